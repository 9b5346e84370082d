"""Attachments that are more than a file: a folder, a symbol, what the editor or git says. Each is a snapshot whose
label is the mention."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.facts.fact import Span
from palimpsest.domain.facts.staleness.symbols import enclosing_symbol, find_symbol
from palimpsest.domain.messages import AttachmentPart, ConversationId, TurnId
from palimpsest.services.chat.attachments import FileAttachment, Snapshot, take_snapshots, text_snapshot
from palimpsest.services.folder.session import OpenFolder
from palimpsest.services.tools.editors import AttachedEditor, EditorGone
from palimpsest.services.tools.from_editor import PREFIX
from palimpsest.services.tools.toolbox import ToolOutput, TurnScope
from palimpsest.services.workspace.encoding import split_lines
from palimpsest.services.workspace.files import PlaceKind
from palimpsest.services.workspace.git_changes import changes, recent_commits
from palimpsest.services.workspace.texts import WorkspaceTexts
from palimpsest.wording import counted

MAX_LISTED: Final = 500
"""The most names of a mentioned folder."""
SMALL_BYTES: Final = 8 * 1024
"""The largest file of a mentioned folder that is attached with it."""
BYTES_A_TOKEN: Final = 3
"""How many bytes of text make a token, at least; for bounds alone."""
MAX_PLACES: Final = 5
"""The most places of one symbol."""
MAX_SEARCHED: Final = 20_000
"""The most files in which a symbol is looked for."""
MAX_TERMINAL: Final = 64 * 1024
"""The most bytes of what a terminal shows; the last ones count."""
MAX_SENTENCE: Final = 300
"""The most characters of what an editor says about a failure."""
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\|$)|[ -/]*[0-~])")
"""What a terminal obeys and does not show (ECMA-48): control sequences, strings of commands, other escapes."""
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

MAX_COMPLETED: Final = 50
_DIFF: Final = "What has changed and is not staged"
_STAGED: Final = "What is staged for the next commit"
_PLACE: Final = re.compile(r"(.+?):(\d{1,9}):\d+: (?:\w+ )?(.+)")
"""A line of an editor's tool `symbols`."""
_NOBODY: Final = TurnScope(ConversationId(""), TurnId(""))
"""For a tool that runs for a message which is not sent yet."""


async def folder_snapshot(texts: WorkspaceTexts, path: str, most_tokens: int) -> Snapshot | None:
    """The names below a folder, and its small texts as far as `most_tokens` reach; None when there is no such folder
    to be read."""
    return await asyncio.to_thread(_folder, texts, path, most_tokens)


def _folder(texts: WorkspaceTexts, path: str, most_tokens: int) -> Snapshot | None:
    try:
        place = texts.files.locate(path.rstrip("/") or ".")
    except (InvalidRequest, NotFound):
        return None
    if place.kind is not PlaceKind.FOLDER:
        return None
    label = f"{place.path}/"
    walk = texts.files.walk(place.parts)
    found = [each for each, _ in zip(walk, range(MAX_LISTED + 1), strict=False)]
    listed = [f"{each.path}/" if each.is_folder else f"{each.path} ({each.status.st_size:,} bytes)" for each in found]
    room = most_tokens * BYTES_A_TOKEN
    parts, large, n_unread = list[AttachmentPart](), 0, 0
    for each in found[:MAX_LISTED]:
        if each.is_folder:
            continue
        if each.status.st_size > min(SMALL_BYTES, room):
            large += 1
            continue
        if (read := texts.text_of(each)) is None:
            n_unread += 1
            continue
        text = "".join(f"{line}\n" for line in split_lines(read))
        if len(text.encode()) > min(SMALL_BYTES, room):  # the editor holds more than the disk
            large += 1
            continue
        room -= len(text.encode())
        parts.append(AttachmentPart(each.path, text))
    left_out = []
    if len(found) > MAX_LISTED or walk.is_truncated:
        left_out.append(f"The folder has more than {MAX_LISTED} entries; only the first are listed.")
    if large:
        left_out.append(f"{counted(large, 'file')} too large for this message: only the name is here.")
    if n_unread:
        left_out.append(f"{counted(n_unread, 'file')} not readable as text: only the name is here.")
    listing = "\n".join([*listed[:MAX_LISTED], *(f"[{each}]" for each in left_out)]) or "[The folder is empty.]"
    return Snapshot(label, (AttachmentPart(label, f"{listing}\n"), *parts), left_out=tuple(left_out))


async def symbol_snapshot(folder: OpenFolder, texts: WorkspaceTexts, name: str) -> Snapshot:
    """What the name is defined as: by the editor's own language tools where it offers them, else by the form of the
    lines in the folder's files. Raises InvalidRequest when nothing is found."""
    places = await _by_editor(folder, texts, name)
    if not places:
        places = await asyncio.to_thread(lambda: list(_by_form(texts, name)))
    if not places:
        raise InvalidRequest(f"Nothing in this folder defines {name[:80]!r}.")
    wanted = [FileAttachment(path, span.start, span.end) for path, span in places[:MAX_PLACES]]
    taken = [each for each in await take_snapshots(texts, wanted) if each.problem is None]
    if not taken:
        raise InvalidRequest(f"The files that define {name[:80]!r} may not be read.")
    n_more = len(places) - MAX_PLACES
    verbs = "defines it; it is" if n_more == 1 else "define it; they are"
    more = f"{counted(n_more, 'more place')} {verbs} left out." if n_more > 0 else ""
    parts = tuple(part for each in taken for part in each.parts)
    return Snapshot(f"symbol:{name}", parts, left_out=(more,) if more else ())


async def _by_editor(folder: OpenFolder, texts: WorkspaceTexts, name: str) -> list[tuple[str, Span]]:
    last = re.split(r"::|[.#]", name)[-1]
    said = await _ask_editor(folder, "symbols", {"query": last})
    if said is None:
        return []
    lines = [match for line in said.splitlines() if (match := _PLACE.fullmatch(line))]
    exact = [match for match in lines if re.sub(r"\(.*", "", match[3]) in (name, last)]
    return await asyncio.to_thread(lambda: list(dict.fromkeys(_around(texts, m[1], int(m[2])) for m in exact)))


def _around(texts: WorkspaceTexts, path: str, line: int) -> tuple[str, Span]:
    """The definition at a line; the line alone where its end is not known, or where the file may not be read."""
    try:
        text = "\n".join(texts.read(path).lines)
    except (InvalidRequest, NotFound):
        return path, Span(line, line)
    found = enclosing_symbol(path, text, line)
    return path, Span(line, line) if found is None else found[0]


def _by_form(texts: WorkspaceTexts, name: str) -> Iterator[tuple[str, Span]]:
    last = re.split(r"::|[./#\s]", name.rstrip("()"))[-1]
    for n_read, (path, text) in enumerate(texts.searchable(texts.files.locate("."), None)):
        if n_read >= MAX_SEARCHED:
            return
        if last and last in text and (span := find_symbol(path, text, name)) is not None:
            yield path, span


async def problems_snapshot(folder: OpenFolder) -> Snapshot:
    """Raises InvalidRequest where no editor tells its problems."""
    said = await _ask_editor(folder, "problems", {})
    if said is None:
        raise InvalidRequest(
            "This editor does not tell Palimpsest its problems, so @problems is not available here. Take the code "
            "action Fix this problem where one is, or paste them."
        )
    return text_snapshot("problems", said)


async def terminal_snapshot(folder: OpenFolder, editor: AttachedEditor | None) -> Snapshot:
    """What the terminal of the editor that sends the message shows, as it tells it: of no other one, which may be
    somebody's elsewhere. Raises InvalidRequest."""
    said = await _run_editors(folder, "terminal", {}, editor)
    if said is None:
        raise InvalidRequest(
            "This editor does not tell Palimpsest what its terminal shows, so @terminal is not available here. Paste "
            "the lines that matter."
        )
    if said.is_error:
        raise InvalidRequest(" ".join(said.text.split())[:MAX_SENTENCE] or "The terminal could not be read.")
    lines = _shown_lines(said.text)
    if not lines:
        raise InvalidRequest("The terminal shows nothing.")
    n_left_out, size = len(lines), 0
    while n_left_out and (size := size + len(lines[n_left_out - 1].encode("utf-8", "replace")) + 1) <= MAX_TERMINAL:
        n_left_out -= 1
    note = (f"{counted(n_left_out, 'earlier line')} left out.",) if n_left_out else ()
    kept = lines[n_left_out:]
    if not kept:  # the last line alone is too long
        kept = [lines[-1].encode("utf-8", "replace")[-MAX_TERMINAL:].decode("utf-8", "ignore")]
        note = ("All but the end of the last line is left out.",)
    taken = text_snapshot("terminal", "\n".join([*(f"[{each}]" for each in note), *kept]))
    return Snapshot(taken.label, taken.parts, left_out=note)


def _shown_lines(text: str) -> list[str]:
    """The lines as a terminal leaves them: without what colors them, and the last of those written over each other."""
    plain = _ESCAPES.sub("", text).replace("\r\n", "\n")
    lines = [line.rstrip("\r").rpartition("\r")[2].rstrip() for line in plain.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return [_CONTROLS.sub("", line) for line in lines]


async def git_snapshot(folder: OpenFolder, what: str) -> Snapshot:
    """Raises InvalidRequest."""
    if not folder.trust.is_trusted:
        raise InvalidRequest(
            "You do not trust this folder, and a repository can name programs that git runs, so @git is not available."
        )
    found = await asyncio.to_thread(changes, folder.root, folder.environ, what)
    body = "\n".join([*(f"[{each}]" for each in found.left_out), found.text])
    taken = text_snapshot(f"git:{what}", body)
    return Snapshot(taken.label, taken.parts, left_out=found.left_out)


async def kind_items(folder: OpenFolder, typed: str) -> list[tuple[str, str, str]]:
    """Completions of mentions that name their kind: the label, the text, and what it attaches."""
    kind, colon, rest = typed.partition(":")
    if kind == "git" and colon:
        known = [("diff", _DIFF), ("staged", _STAGED)]
        if folder.trust.is_trusted:
            known += await asyncio.to_thread(recent_commits, folder.root, folder.environ)
        wanted = rest.casefold()
        return [
            (name, f"@git:{name}", said)
            for name, said in known
            if name.startswith(rest) or (len(rest) > 1 and wanted in said.casefold())
        ]
    if kind == "symbol" and rest:
        said = await _ask_editor(folder, "symbols", {"query": rest}) or ""
        places = [match for line in said.splitlines()[:MAX_COMPLETED] if (match := _PLACE.fullmatch(line))]
        return list(
            {match[3]: (match[3], f"@symbol:{match[3]}", f"{match[1]}:{match[2]}") for match in places}.values()
        )
    if not typed or colon:
        return []
    kinds = [
        ("symbol:", "@symbol:", "A symbol and how it is defined"),
        ("git:diff", "@git:diff", _DIFF),
        ("git:staged", "@git:staged", _STAGED),
        ("git:", "@git:", "A commit"),
        ("https://", "@https://", "A page of the web; you are asked before it is fetched"),
    ]
    if PREFIX + "terminal" in folder.editors.tools():
        kinds.append(("terminal", "@terminal", "What the editor's terminal shows"))
    if PREFIX + "problems" in folder.editors.tools():
        kinds.append(("problems", "@problems", "The problems that the editor shows"))
    return [each for each in kinds if each[0].startswith(typed)]


async def _ask_editor(folder: OpenFolder, tool: str, arguments: Mapping[str, Any]) -> str | None:
    """What the first editor with this tool says; None when no editor has it, or the one that has it fails."""
    said = await _run_editors(folder, tool, arguments)
    return None if said is None or said.is_error else said.text


async def _run_editors(
    folder: OpenFolder, tool: str, arguments: Mapping[str, Any], of: AttachedEditor | None = None
) -> ToolOutput | None:
    """What becomes of the tool `of` an editor, or of the first editor that has it; None when there is none."""
    editor, known = folder.editors.tools(of).get(PREFIX + tool, (None, None))
    if editor is None or known is None or not known.is_read_only:
        return None
    try:
        return await editor.run_tool(_NOBODY, tool, arguments)
    except EditorGone:
        return None
