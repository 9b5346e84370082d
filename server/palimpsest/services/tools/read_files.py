"""The tools that read a workspace folder: `read_file`, `list_files` and `search_files`.

An answer is short enough not to become a preview. It says when it is incomplete, and how to get the rest. Lines have
their numbers, so that a model can cite them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.tools.arguments import argument, read_arguments, schema_of
from palimpsest.services.tools.search_text import Query, SearchEnd, SearchResult, search_texts
from palimpsest.services.tools.toolbox import Tool, ToolOutput, shown
from palimpsest.services.workspace.files import MAX_DEPTH, Place, PlaceKind, WorkspaceFiles
from palimpsest.services.workspace.globs import Glob
from palimpsest.services.workspace.pictures import take
from palimpsest.services.workspace.texts import WorkspacePicture, WorkspaceText, WorkspaceTexts
from palimpsest.wording import counted

MAX_OUTPUT_BYTES: Final = 30_000
"""The most bytes of one answer, without notes. Below the default of `tools.response_max_bytes`."""
MAX_LINE_CHARACTERS: Final = 2_000
MAX_LISTED: Final = 1_000
SEARCH_TIMEOUT_S: Final = 10.0

_PATH_HELP: Final = "Path below the workspace folder, with `/`."
_GLOB_HELP: Final = "Only files that match, such as `*.py` (at any depth) or `src/**/*.ts`."


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Arguments of `read_file`."""

    path: str = argument(_PATH_HELP)
    start_line: int = argument("First line wanted, counted from 1.", default=1, at_least=1)
    end_line: int | None = argument("Last line wanted. Without it: to the end.", default=None, at_least=1)


@dataclass(frozen=True, slots=True)
class ListFiles:
    """Arguments of `list_files`."""

    path: str = argument(f"The folder. {_PATH_HELP}", default=".")
    glob: str | None = argument(_GLOB_HELP, default=None)
    depth: int | None = argument(
        "How many folders deep; 2 without it, or no limit where a glob is given.",
        default=None,
        at_least=1,
        at_most=MAX_DEPTH,
    )


@dataclass(frozen=True, slots=True)
class SearchFiles:
    """Arguments of `search_files`."""

    pattern: str = argument("A regular expression (Python), matched against each line.")
    path: str = argument(f"The file or folder to search. {_PATH_HELP}", default=".")
    glob: str | None = argument(_GLOB_HELP, default=None)
    literal: bool = argument("Whether the pattern is plain text instead.", default=False)
    ignore_case: bool = argument("Whether case does not matter.", default=False)
    limit: int = argument("How many matching lines are wanted.", default=100, at_least=1, at_most=500)


class ReadingTools:
    """The tools for one workspace folder. They change nothing, so running one again does no harm."""

    def __init__(
        self,
        files: WorkspaceFiles,
        unsaved: Callable[[], Mapping[str, str]],
        search_timeout_s: float = SEARCH_TIMEOUT_S,
    ) -> None:
        self._files = files
        self._unsaved = unsaved
        """The texts of open documents, by path below the folder, with `/`. Called on the event loop, once per call."""
        self._search_timeout_s = search_timeout_s

    def tools(self) -> tuple[Tool, ...]:
        return (
            Tool(
                ToolSchema(
                    "read_file",
                    "Reads a text file of the workspace folder, each line behind its number and a tab. Long files come "
                    "in parts: the note at the end says where to go on. Pictures (PNG, JPEG, WebP, GIF) are shown.",
                    schema_of(ReadFile),
                ),
                self._read_file,
            ),
            Tool(
                ToolSchema(
                    "list_files",
                    "Lists files and folders (with a `/` at the end) of the workspace folder, sorted. Ignored files, "
                    "secrets and links are left out.",
                    schema_of(ListFiles),
                ),
                self._list_files,
            ),
            Tool(
                ToolSchema(
                    "search_files",
                    "Looks for lines in the text files of the workspace folder. Ignored files and secrets are not.",
                    schema_of(SearchFiles),
                ),
                self._search_files,
            ),
        )

    async def _read_file(self, arguments: str) -> ToolOutput:
        asked = read_arguments(ReadFile, arguments)
        if asked.end_line is not None and asked.end_line < asked.start_line:
            raise InvalidRequest("'end_line' lies before 'start_line'. Swap them.")
        found = await asyncio.to_thread(self._texts().look, asked.path)
        if isinstance(found, WorkspacePicture):
            return shown(await asyncio.to_thread(take, found.path, found.data))
        return ToolOutput(_page(found, asked))

    async def _list_files(self, arguments: str) -> ToolOutput:
        asked = read_arguments(ListFiles, arguments)
        return ToolOutput(await asyncio.to_thread(_listing, self._texts(), asked))

    async def _search_files(self, arguments: str) -> ToolOutput:
        asked = read_arguments(SearchFiles, arguments)
        if not asked.pattern:
            raise InvalidRequest("The pattern is empty. Say what to look for.")
        glob = _glob_of(asked.glob)
        texts = self._texts()
        start = await asyncio.to_thread(self._files.locate, asked.path)
        query = Query(asked.pattern, asked.literal, asked.ignore_case, asked.limit)
        found = await search_texts(query, texts.searchable(start, glob), self._search_timeout_s)
        return ToolOutput(_report(found, texts.n_skipped, asked.limit, self._search_timeout_s))

    def _texts(self) -> WorkspaceTexts:
        return WorkspaceTexts(self._files, self._unsaved())


def _page(text: WorkspaceText, asked: ReadFile) -> str:
    n_lines = len(text.lines)
    if n_lines == 0:
        return _with_notes([], [*text.remarks, "The file is empty."])
    if asked.start_line > n_lines:
        raise InvalidRequest(f"{text.path!r} has only {counted(n_lines, 'line')}. Ask for an earlier 'start_line'.")
    wanted = islice(text.lines, asked.start_line - 1, asked.end_line)
    shown = _fitting(_numbered(number, line) for number, line in enumerate(wanted, start=asked.start_line))
    last = asked.start_line + len(shown) - 1
    notes = list(text.remarks)
    if asked.start_line > 1 or last < n_lines:
        notes.append(f"Lines {asked.start_line} to {last} of {n_lines}.")
    if last < min(asked.end_line or n_lines, n_lines):
        notes.append(f"More would be too long for one answer: go on with start_line {last + 1}.")
    return _with_notes(shown, notes)


def _listing(texts: WorkspaceTexts, asked: ListFiles) -> str:
    start = texts.files.locate(asked.path)
    if start.kind is not PlaceKind.FOLDER:
        raise InvalidRequest(f"{start.path!r} is no folder. read_file reads files.")
    glob = _glob_of(asked.glob)
    depth = asked.depth or (2 if glob is None else MAX_DEPTH)
    walk = texts.files.walk(start.parts, max_depth=depth)
    listed = ((found.parts, found.path + "/" * found.is_folder) for found in walk if not (glob and found.is_folder))
    unsaved = ((place.parts, place.path) for place in texts.only_in_editor(start) if _depth(place, start) <= depth)
    names = [name for parts, name in (*listed, *unsaved) if glob is None or glob.matches(parts)]
    # The entries nearest to the folder are kept, then shown in the order of their paths.
    shown = sorted(_fitting(names[:MAX_LISTED]), key=lambda name: name.split("/"))
    notes = []
    if not names:
        notes.append("Nothing here that may be read.")
    if len(shown) < len(names):
        notes.append(f"{len(shown)} of {len(names)} entries. Name a folder below, or a glob.")
    if walk.is_truncated:
        notes.append("The folder is too large to be looked through; not everything was seen.")
    if walk.unused_patterns:
        which = (
            f"{len(walk.unused_patterns)} ignore patterns are too long or too many ({walk.unused_patterns[0]} first)"
        )
        notes.append(f"{which}. They are not used, so what they name is not left out.")
    return _with_notes(shown, notes)


def _report(found: SearchResult, n_skipped: int, limit: int, timeout_s: float) -> str:
    blocks: list[str] = []
    for path, matches in groupby(found.matches, key=lambda match: match.path):
        blocks += [path, *(_numbered(match.line, match.text) for match in matches)]
    shown = _fitting(blocks)
    notes = []
    if not found.matches:
        notes.append("No line matches.")
    if found.end is SearchEnd.LIMIT:
        notes.append(f"More lines match than {limit}. Narrow the pattern, the path or the glob.")
    if found.end is SearchEnd.TIME:
        notes.append(
            f"The search was ended after {timeout_s:g} s, before every file was searched. Narrow the path or the glob, "
            "or write a simpler pattern."
        )
    if len(shown) < len(blocks):
        notes.append("More would be too long for one answer. Narrow the pattern, the path or the glob.")
    if n_skipped:
        notes.append(f"{counted(n_skipped, 'file')} not searched: binary, too large, or not readable.")
    return _with_notes(shown, notes)


def _glob_of(pattern: str | None) -> Glob | None:
    return None if pattern is None else Glob(pattern)


def _depth(place: Place, start: Place) -> int:
    return len(place.parts) - len(start.parts)


def _numbered(number: int, line: str) -> str:
    if len(line) > MAX_LINE_CHARACTERS:
        line = f"{line[:MAX_LINE_CHARACTERS]}… [{len(line)} characters]"
    return f"{number}\t{line}"


def _fitting(lines: Iterable[str]) -> list[str]:
    """The first lines, as many as fit one answer, and at least one."""
    fitting: list[str] = []
    n_bytes = 0
    for line in lines:
        n_bytes += len(line.encode("utf-8", errors="replace")) + 1
        if fitting and n_bytes > MAX_OUTPUT_BYTES:
            break
        fitting.append(line)
    return fitting


def _with_notes(lines: Sequence[str], notes: Sequence[str]) -> str:
    return "\n".join([*lines, *(f"[{note}]" for note in notes)])
