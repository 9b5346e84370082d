"""The prompts of servers, as slash commands: `/SERVER:PROMPT` with arguments."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.mcp.content import Media, MediaKind, Text
from palimpsest.domain.mcp.offered import OfferedPrompt
from palimpsest.domain.messages import clean_text
from palimpsest.services.mcp.connection import PromptText
from palimpsest.services.mcp.server import McpServer
from palimpsest.services.mcp.servers import McpServers
from palimpsest.wording import nearest

TYPED: Final = re.compile(r"/([A-Za-z][A-Za-z0-9_-]*):(\S+)(?:\s+(.*))?", re.DOTALL)
"""A prompt as a user types it: the server, the prompt, its arguments."""
MAX_CHARACTERS: Final = 200_000
"""The longest prompt that is taken."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A prompt that the user may use now."""

    server: McpServer
    prompt: OfferedPrompt

    @property
    def name(self) -> str:
        return f"{self.server.config.name}:{self.prompt.name}"

    @property
    def usage(self) -> str:
        """`/git:review FILE [STYLE]`."""
        words = [each.name if each.is_required else f"[{each.name}]" for each in self.prompt.arguments]
        return " ".join([f"/{self.name}", *words])


def offered_prompts(servers: McpServers) -> list[Offered]:
    """The prompts of every server, by name."""
    return [Offered(server, prompt) for server in servers.running() for prompt in server.status.offer.prompts]


async def written_out(servers: McpServers, typed: str) -> str | None:
    """The message that a prompt words; None when the text is not one. Raises InvalidRequest."""
    match = TYPED.fullmatch(typed.strip())
    if match is None:
        return None
    found = {each.name: each for each in offered_prompts(servers)}
    name = f"{match[1]}:{match[2]}"
    if (offered := found.get(name)) is None:
        near = nearest(name, found)
        more = f" Did you mean /{near[0]}?" if near else " /mcp lists what the servers offer."
        raise NotFound(f"No MCP server offers the prompt /{name[:100]}.{more}")
    arguments = _arguments(offered, match[3] or "")
    return _message(await offered.server.prompt(offered.prompt.name, arguments))


def _arguments(offered: Offered, typed: str) -> dict[str, str]:
    """`name=value`, or values in the order of the names; the last name takes the rest. Raises InvalidRequest."""
    names = [each.name for each in offered.prompt.arguments]
    try:
        words = shlex.split(typed)
    except ValueError:
        raise InvalidRequest(f"A quotation mark is missing. Type {offered.usage}.") from None
    found: dict[str, str] = {}
    rest: list[str] = []
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in names and name not in found:
            found[name] = value
        else:
            rest.append(word)
    free = [name for name in names if name not in found]
    if rest and not free:
        raise InvalidRequest(f"There are more words than the prompt takes. Type {offered.usage}.")
    for n, name in enumerate(free[: len(rest)]):
        found[name] = rest[n] if n < len(free) - 1 else " ".join(rest[n:])
    missing = [each.name for each in offered.prompt.arguments if each.is_required and each.name not in found]
    if missing:
        raise InvalidRequest(f"The prompt needs {', '.join(missing)}. Type {offered.usage}.")
    return found


def _message(said: tuple[PromptText, ...]) -> str:
    """The prompt as one message: the user's part as it is, and what it has the assistant say behind a name."""
    lines: list[str] = []
    for each in said:
        for block in each.blocks:
            match block:
                case Text(text):
                    line = text
                case Media(kind) if kind is MediaKind.IMAGE:
                    line = "[The prompt has an image here, which is not sent.]"
                case _:
                    line = "[The prompt has something here that is no text, which is not sent.]"
            lines.append(line if each.role == "user" else f"{each.role}: {line}")
    message = clean_text("\n\n".join(lines))[0]
    if len(message) > MAX_CHARACTERS:
        raise InvalidRequest(f"The prompt has more than {MAX_CHARACTERS:,} characters, so it is not used.")
    return message
