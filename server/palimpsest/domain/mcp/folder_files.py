"""The servers that files of a workspace folder ask for: `.mcp.json`, as Claude Code and others write it, and
`.vscode/mcp.json`, as VS Code writes it, with comments and commas behind the last item."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain import foreign_json
from palimpsest.domain.approvals import visible
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.mcp.config import MAX_SERVERS, Origin, ServerConfig, read_file_entry

MAX_FILE_BYTES: Final = 256 * 1024
TABLES: Final = {Origin.PROJECT: "mcpServers", Origin.VSCODE: "servers"}
"""The key of the servers in each file."""
# A string that does not end is taken as well: else it would be read again from each quotation mark in it.
_COMMENT: Final = re.compile(r'("(?:[^"\\\n]|\\.)*+"?)|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA: Final = re.compile(r'("(?:[^"\\\n]|\\.)*+"?)|,(?=\s*[}\]])')


@dataclass(frozen=True, slots=True)
class Configured:
    """Configured servers, with a sentence for each one that does not count."""

    servers: tuple[ServerConfig, ...] = ()
    """By name, none twice."""
    problems: tuple[str, ...] = ()


def read_file(origin: Origin, text: str) -> Configured:
    """The servers of one file."""
    try:
        whole = foreign_json.read(_plain(text))
    except ValueError:
        return Configured(problems=(f"{origin.value} is not JSON, so none of its servers is used.",))
    table = whole.get(TABLES[origin], {}) if isinstance(whole, Mapping) else None
    if not isinstance(table, Mapping):
        return Configured(problems=(f"{origin.value} has no object {TABLES[origin]!r}, so it names no servers.",))
    found: dict[str, ServerConfig] = {}
    problems: list[str] = []
    for name, entry in table.items():
        try:
            config = read_file_entry(name, entry, origin)
        except InvalidRequest as error:
            problems.append(f"In {origin.value}: {error}")
            continue
        if config.name in found:
            problems.append(f"In {origin.value} the server {visible(name)[:60]!r} is {config.name!r} like another one.")
        elif len(found) >= MAX_SERVERS:
            problems.append(f"{origin.value} names more than {MAX_SERVERS} servers. The others are not used.")
            break
        else:
            found[config.name] = config
    return Configured(tuple(found.values()), tuple(problems))


def together(configured: Sequence[Configured]) -> Configured:
    """All of them; of two servers with one name the earlier one counts."""
    found: dict[str, ServerConfig] = {}
    problems: list[str] = []
    for each in configured:
        problems += each.problems
        for config in each.servers:
            first = found.setdefault(config.name, config)
            if first is not config and first.identity != config.identity:
                problems.append(
                    f"The server {config.name} of {config.origin.value} is not used: {first.origin.value} has one of "
                    "that name."
                )
    return Configured(tuple(found[name] for name in sorted(found)), tuple(problems))


def _plain(text: str) -> str:
    """The text as JSON: a comment is white space, and no comma stands before a closing bracket."""
    return _LAST_COMMA.sub(lambda match: match[1] or "", _COMMENT.sub(lambda match: match[1] or " ", text))
