"""The completion of `@` and `/` in a chat: files and folders of the workspace and resources of MCP servers, and the
slash commands with the prompts of those servers.

Only files that tools may read are offered (`WorkspaceFiles`). The result of a walk is used for a few seconds, because
every keystroke asks.
"""

from __future__ import annotations

import asyncio
import heapq
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from palimpsest.machine import machine
from palimpsest.services.chat.commands.table import SlashCommand, matching
from palimpsest.services.chat.mentioned_places import kind_items
from palimpsest.services.chat.own_commands import OwnCommand, commands_of
from palimpsest.services.chat.resources import offered_resources
from palimpsest.services.folder.session import OpenFolder
from palimpsest.services.mcp.prompts import Offered, offered_prompts
from palimpsest.services.mcp.servers import McpServers
from palimpsest.services.workspace.files import WorkspaceFiles

MAX_ITEMS: Final = 50
MAX_ENTRIES: Final = 50_000
"""The most names of a walk; those nearest to the root come first."""
_FEW: Final = 10
"""The most resources that are offered beside files."""
KEPT_S: Final = 5.0
"""How long the result of a walk is used."""

_MENTION: Final = re.compile(r"(?:^|[\s(\[{,;])(@(?:\"([^\"\n]*)|([^\s\"]*)))\Z")
_COMMAND: Final = re.compile(r"/([A-Za-z][A-Za-z0-9_-]*(?::\S*)?|)\Z")
_LONGEST: Final = 300
"""The characters before the cursor that are searched for an `@`."""


class ItemKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    COMMAND = "command"
    RESOURCE = "resource"


@dataclass(frozen=True, slots=True)
class Item:
    """One completion."""

    kind: ItemKind
    label: str
    insert_text: str
    """The text that replaces the typed text from the `@` or `/` on."""
    detail: str
    path: str | None = None
    """The path of a file or folder below the workspace folder, with `/`; None for a command."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The completions at a place of a text."""

    start: int
    """The character index of the `@` or `/`."""
    items: tuple[Item, ...] = ()
    """Best first."""
    is_incomplete: bool = False
    """Whether more would match."""


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    is_folder: bool

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Mentions:
    """The completions for one workspace folder. Use it on one event loop."""

    def __init__(self, files: WorkspaceFiles) -> None:
        self._files = files
        self._walking: asyncio.Task[tuple[Sequence[_Entry], bool]] | None = None
        self._kept_until = 0.0

    async def complete(self, text: str, position: int, folder: OpenFolder | None = None) -> Completion:
        """The completions before character `position` of `text`; none when neither a mention nor a command is being
        typed. None for `folder`: only what every folder has."""
        typed = text[max(0, position - _LONGEST) : position]
        if position <= _LONGEST and (command := _COMMAND.fullmatch(typed)) is not None:
            return Completion(0, tuple(await _commands(command[1], folder)))
        servers = None if folder is None else folder.mcp
        mention = _MENTION.search(typed)
        if mention is None:
            return Completion(position)
        query = mention[3] if mention[2] is None else mention[2]
        resources = [] if servers is None else _resource_items(servers, query)
        kinds = [] if folder is None else await kind_items(folder, query)
        resources = [*(Item(ItemKind.RESOURCE, *each) for each in kinds), *resources]
        if ":" in query and resources:
            return Completion(position - len(mention[1]), tuple(resources[:MAX_ITEMS]), len(resources) > MAX_ITEMS)
        entries, is_cut = await self._entries()
        best, n_matching = await asyncio.to_thread(_best, entries, query)
        items = [_file_item(entry) for entry in best]
        is_incomplete = is_cut or n_matching > len(items) or bool(resources)
        return Completion(position - len(mention[1]), (*items, *resources[:_FEW]), is_incomplete)

    async def _entries(self) -> tuple[Sequence[_Entry], bool]:
        """Every file and folder, nearest to the root first, and whether some are missing."""
        walking = self._walking
        if walking is None or (walking.done() and machine.monotonic_s() >= self._kept_until):
            walking = self._walking = asyncio.create_task(self._walk())
        return await asyncio.shield(walking)

    async def _walk(self) -> tuple[Sequence[_Entry], bool]:
        found = await asyncio.to_thread(_walk_all, self._files)
        self._kept_until = machine.monotonic_s() + KEPT_S
        return found


async def _commands(typed: str, folder: OpenFolder | None) -> list[Item]:
    """The commands, those of the user's own, and the prompts of servers that begin like that; where there are none, the
    commands with the nearest names."""
    prompts = [] if folder is None else [each for each in offered_prompts(folder.mcp) if each.name.startswith(typed)]
    found = [_prompt_item(each) for each in prompts[:MAX_ITEMS]]
    if ":" in typed:
        return found
    own = [] if folder is None else (await commands_of(folder)).matching(typed)
    found = [*map(_own_item, own), *found]
    commands = matching(typed)
    if found and not any(each.name.startswith(typed.lower()) for each in commands):
        return found
    return [*map(_command_item, commands), *found]


def _walk_all(files: WorkspaceFiles) -> tuple[Sequence[_Entry], bool]:
    walk = files.walk(max_entries=MAX_ENTRIES)
    entries = [_Entry(found.path, found.is_folder) for found in walk]
    return entries, walk.is_truncated


def _best(entries: Sequence[_Entry], query: str) -> tuple[list[_Entry], int]:
    """The best matches, best first, and the number of all matches."""
    wanted = query.casefold()
    ranked = [(rank, entry) for entry in entries if (rank := rank_of(entry.path, wanted)) is not None]
    if not wanted:
        return [entry for _, entry in ranked[:MAX_ITEMS]], len(ranked)  # nearest the root first, as they were found
    best = heapq.nsmallest(MAX_ITEMS, ranked, key=lambda each: (each[0], len(each[1].path), each[1].path))
    return [entry for _, entry in best], len(ranked)


def rank_of(path: str, query: str) -> tuple[int, int] | None:
    """The rank of a path for a query in folded case, lower is better; None when the path does not have the query's
    characters in order.

    First come names that begin with the query, then names that contain it, then paths that contain it, then names and
    paths with its characters in separate runs, fewer runs first.
    """
    folded = path.casefold()
    name = folded.rpartition("/")[2]
    if name.startswith(query):
        return 0, len(name) - len(query)
    if query in name:
        return 1, name.index(query)
    if query in folded:
        return 2, folded.index(query)
    for rank, text in ((3, name), (4, folded)):
        if (n_stretches := _stretches(text, query)) is not None:
            return rank, n_stretches
    return None


def _stretches(text: str, query: str) -> int | None:
    """The number of runs of the query's characters in the text, found from the end; None when some are missing."""
    at, n_stretches, last = len(text), 0, -1
    for character in reversed(query):
        at = text.rfind(character, 0, at)
        if at < 0:
            return None
        n_stretches += at != last - 1
        last = at
    return n_stretches


def _file_item(entry: _Entry) -> Item:
    shown = entry.path + "/" * entry.is_folder
    quoted = f'"{shown}"' if re.search(r"\s", shown) else shown
    if entry.is_folder:  # the user goes on into the folder, so the quote stays open
        quoted = quoted.removesuffix('"')
    kind = ItemKind.FOLDER if entry.is_folder else ItemKind.FILE
    folder = entry.path.rpartition("/")[0]
    return Item(kind, entry.name + "/" * entry.is_folder, f"@{quoted}", folder, entry.path)


def _resource_items(servers: McpServers, query: str) -> list[Item]:
    """The resources whose name, or the server of which, matches the query."""
    wanted = query.casefold()
    return [
        Item(ItemKind.RESOURCE, resource.name or resource.uri, f"@{label}", resource.description or resource.uri)
        for server, resource in offered_resources(servers)
        if wanted in (label := f"{server.config.name}:{resource.uri}").casefold() or wanted in resource.name.casefold()
    ]


def _prompt_item(offered: Offered) -> Item:
    insert = f"/{offered.name} " if offered.prompt.arguments else f"/{offered.name}"
    return Item(ItemKind.COMMAND, offered.usage, insert, offered.prompt.description)


def _own_item(command: OwnCommand) -> Item:
    insert = f"/{command.name} " if command.takes_arguments else f"/{command.name}"
    return Item(ItemKind.COMMAND, command.usage, insert, command.description)


def _command_item(command: SlashCommand) -> Item:
    insert = f"/{command.name} " if command.argument else f"/{command.name}"
    return Item(ItemKind.COMMAND, command.usage, insert, command.help)
