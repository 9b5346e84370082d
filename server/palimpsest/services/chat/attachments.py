"""The attachments of a message: snapshots that are part of the message and never change.

The rules for tools apply to files: none outside the folder, no secrets, and unsaved text in an editor wins. Text from
an editor is taken as it is, but not from a file with the name of a secret. The size is limited, because a user's
message is never cut.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from palimpsest.domain.context.tokens import MESSAGE_OVERHEAD
from palimpsest.domain.deny_list import is_denied
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import AttachmentPart, Content, ConversationId, ImagePart, Role, TextPart, clean_text
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.workspace.pictures import Picture, take
from palimpsest.services.workspace.texts import WorkspacePicture, WorkspaceText, WorkspaceTexts
from palimpsest.wording import counted

MAX_ATTACHMENTS: Final = 100
MAX_BYTES: Final = 512 * 1024
"""The most bytes of one attachment, in UTF-8."""
MAX_TOTAL_BYTES: Final = 2 * 1024 * 1024
"""The most bytes of the texts of all attachments of a message."""
MAX_PICTURES: Final = 20
"""The most pictures of a message."""
_TOO_MANY_PICTURES: Final = f"A message may have at most {MAX_PICTURES} pictures. Attach fewer."


@dataclass(frozen=True, slots=True)
class FileAttachment:
    """A file of the workspace folder, or some lines of it."""

    path: str
    start_line: int | None = None
    """The first line, counted from 1. None means the first of the file."""
    end_line: int | None = None
    """The last line. None means the last of the file."""


@dataclass(frozen=True, slots=True)
class SelectionAttachment:
    """Text that an editor sends, such as its selection."""

    path: str | None
    """The path of its file; None for a document without a file."""
    start_line: int | None
    end_line: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A diagnostic of an editor."""

    path: str
    line: int
    """Counted from 1."""
    severity: str
    message: str
    source: str | None = None
    code: str | None = None


@dataclass(frozen=True, slots=True)
class ProblemsAttachment:
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class OpenEditorsAttachment:
    """The open documents of the editor."""

    paths: tuple[str, ...]
    """Paths below the folder. An absolute path is outside and is left out."""
    has_contents: bool
    """Whether the texts are attached too, or only the names."""


@dataclass(frozen=True, slots=True)
class PictureAttachment:
    """A picture that an editor sends, such as one that was pasted."""

    name: str
    data: bytes


Attachment = FileAttachment | SelectionAttachment | ProblemsAttachment | OpenEditorsAttachment | PictureAttachment


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The snapshot of an attachment, or the reason why there is none."""

    label: str
    parts: tuple[AttachmentPart, ...] = ()
    problem: str | None = None
    """The reason, as a sentence; None for a snapshot."""
    left_out: tuple[str, ...] = ()
    """A sentence for each open document that is not attached."""
    picture: Picture | None = None
    """The picture that it is."""

    @property
    def size_bytes(self) -> int:
        """The bytes of its texts."""
        return sum(_size(part) for part in self.parts)

    @property
    def shown(self) -> tuple[AttachmentPart | ImagePart, ...]:
        """The parts of the message that it makes."""
        return self.parts if self.picture is None else (self.picture.part,)


async def take_snapshots(texts: WorkspaceTexts, wanted: Sequence[Attachment]) -> list[Snapshot]:
    """The snapshots, in order. Raises InvalidRequest for too many attachments."""
    if len(wanted) > MAX_ATTACHMENTS:
        raise InvalidRequest(
            f"A message may have at most {MAX_ATTACHMENTS} attachments, and this one has {len(wanted)}. Attach fewer."
        )
    return await asyncio.to_thread(_take_all, texts, wanted)


@dataclass(frozen=True, slots=True)
class Said:
    """A user's message that is about to be sent."""

    content: Content
    pictures: tuple[bytes, ...] = ()
    """The bytes of the pictures in it."""


MAX_CHARACTERS: Final = 12_000_000
"""The most characters of a message with its attachments: more than the largest window of a model."""


def user_content(text: str, snapshots: Sequence[Snapshot]) -> Said:
    """The user's message: the attachments, then the typed text. Raises InvalidRequest, with the first problem, when
    something cannot be attached: a message is never sent without its attachments."""
    cleaned, notes = clean_text(text)
    parts: list[AttachmentPart | ImagePart] = []
    for snapshot in snapshots:
        if snapshot.problem is not None:
            raise InvalidRequest(f"{snapshot.problem} Nothing was sent.")
        for part in snapshot.shown:
            if isinstance(part, ImagePart):
                parts.append(part)
                continue
            body, changed = clean_text(part.text)
            notes += tuple(f"attachment {len(parts) + 1}: {note}" for note in changed)
            parts.append(AttachmentPart(part.label, body))
    n_characters = len(cleaned) + sum(len(part.text) for part in parts if isinstance(part, AttachmentPart))
    if n_characters > MAX_CHARACTERS:
        raise InvalidRequest(
            f"The message has {n_characters:,} characters, and at most {MAX_CHARACTERS:,} can be sent at once. "
            "Put a long text into a file of the folder, and ask about the file. Nothing was sent."
        )
    pictures = tuple(each.picture.data for each in snapshots if each.picture is not None)
    if len(pictures) > MAX_PICTURES:  # attached and mentioned ones together
        raise InvalidRequest(f"{_TOO_MANY_PICTURES} Nothing was sent.")
    # What was typed is left out where it is nothing: some services refuse a blank text.
    typed = (TextPart(cleaned),) if cleaned.strip() or not pictures else ()
    return Said(Content(Role.USER, (*parts, *typed), notes=notes), pictures)


def _take_all(texts: WorkspaceTexts, wanted: Sequence[Attachment]) -> list[Snapshot]:
    taken: list[Snapshot] = []
    room, n_pictures = MAX_TOTAL_BYTES, 0
    for each in wanted:
        snapshot = _take(texts, each)
        n_pictures += snapshot.picture is not None
        if n_pictures > MAX_PICTURES:
            snapshot = Snapshot(snapshot.label, problem=_TOO_MANY_PICTURES)
        if snapshot.size_bytes > room:
            snapshot = Snapshot(
                snapshot.label,
                problem=f"With {snapshot.label!r} the attachments would have "
                f"{MAX_TOTAL_BYTES - room + snapshot.size_bytes:,} bytes, but a message may have at most "
                f"{MAX_TOTAL_BYTES:,} of them. Attach less.",
            )
        room -= snapshot.size_bytes
        taken.append(snapshot)
    return taken


def _take(texts: WorkspaceTexts, wanted: Attachment) -> Snapshot:
    label = " ".join(clean_text(_label_of(wanted))[0].split())
    try:
        match wanted:
            case FileAttachment():
                found = texts.look(wanted.path)
                if isinstance(found, WorkspacePicture):
                    return _picture(found.path, found.data)
                return _snapshot(_lines_of(found, wanted))
            case PictureAttachment():
                if is_denied(wanted.name):
                    raise InvalidRequest(f"{wanted.name!r} has the name of a secret, so it is not attached.")
                return _picture(label, wanted.data)
            case SelectionAttachment():
                if wanted.path is not None and is_denied(wanted.path):
                    raise InvalidRequest(f"{wanted.path!r} has the name of a secret, so it is not attached.")
                return _snapshot(AttachmentPart(label, wanted.text))
            case ProblemsAttachment():
                return _snapshot(AttachmentPart(label, "\n".join(map(_problem_line, wanted.problems))))
            case OpenEditorsAttachment():
                return _take_open(texts, wanted, label)
            case _:
                assert_never(wanted)
    except InvalidRequest as error:
        return Snapshot(label, problem=str(error))


def _take_open(texts: WorkspaceTexts, wanted: OpenEditorsAttachment, label: str) -> Snapshot:
    """The names of the open documents in the folder, and the texts of the readable ones that are not too large."""
    paths = [path for path in dict.fromkeys(wanted.paths) if not os.path.isabs(path)]
    left_out = [f"{path!r} lies outside the workspace folder." for path in wanted.paths if os.path.isabs(path)]
    parts = [AttachmentPart(label, "\n".join(" ".join(path.split()) for path in paths))]
    for path in paths if wanted.has_contents else ():
        try:
            part = _read(texts, FileAttachment(path))
            _check_size(part)
        except InvalidRequest as error:
            left_out.append(str(error))
        else:
            parts.append(part)
    return Snapshot(label, tuple(parts), left_out=tuple(left_out))


def _read(texts: WorkspaceTexts, wanted: FileAttachment) -> AttachmentPart:
    """The file, or its lines. Raises InvalidRequest."""
    return _lines_of(texts.read(wanted.path), wanted)


def _lines_of(found: WorkspaceText, wanted: FileAttachment) -> AttachmentPart:
    n_lines = len(found.lines)
    if wanted.start_line is None and wanted.end_line is None:
        return AttachmentPart(found.path, _joined(found.lines))
    first = 1 if wanted.start_line is None else wanted.start_line
    last = n_lines if wanted.end_line is None else wanted.end_line
    if first > n_lines:
        raise InvalidRequest(f"{found.path!r} has only {counted(n_lines, 'line')}, so line {first} cannot be attached.")
    if first < 1 or last < first:
        raise InvalidRequest(f"Lines {first} to {last} of {found.path!r} are not a range. Lines count from 1.")
    last = min(last, n_lines)
    return AttachmentPart(_lines_label(found.path, first, last), _joined(found.lines[first - 1 : last]))


def _joined(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def text_snapshot(label: str, text: str) -> Snapshot:
    """The snapshot of a text that comes from elsewhere. Raises InvalidRequest when it is too large."""
    return _snapshot(AttachmentPart(" ".join(clean_text(label)[0].split()), clean_text(text)[0]))


def _picture(label: str, data: bytes) -> Snapshot:
    taken = take(label, data)
    return Snapshot(taken.part.label, picture=taken)


def _snapshot(part: AttachmentPart) -> Snapshot:
    _check_size(part)
    return Snapshot(part.label, (part,))


def _check_size(part: AttachmentPart) -> None:
    if (size := _size(part)) > MAX_BYTES:
        raise InvalidRequest(
            f"{part.label!r} has {size:,} bytes, but an attachment may have at most {MAX_BYTES:,}. "
            "Attach the lines that matter."
        )


def _size(part: AttachmentPart) -> int:
    return len(part.text.encode("utf-8", "surrogatepass"))


def _problem_line(problem: Problem) -> str:
    """The problem on one line."""
    origin = " ".join(each for each in (problem.source, problem.code) if each)
    line = f"{problem.path}:{problem.line}: {problem.severity}: {problem.message}{f' [{origin}]' if origin else ''}"
    return " ".join(line.split())


def _label_of(wanted: Attachment) -> str:
    """The label of an attachment before it is read."""
    match wanted:
        case FileAttachment() if wanted.start_line is None and wanted.end_line is None:
            return wanted.path
        case FileAttachment():
            return _lines_label(wanted.path, wanted.start_line or 1, wanted.end_line)
        case SelectionAttachment():
            path = wanted.path or "selection"
            return path if wanted.start_line is None else _lines_label(path, wanted.start_line, wanted.end_line)
        case ProblemsAttachment():
            paths = {problem.path for problem in wanted.problems}
            return f"problems in {paths.pop()}" if len(paths) == 1 else "problems"
        case OpenEditorsAttachment():
            return "open editors"
        case PictureAttachment():
            return wanted.name
        case _:
            assert_never(wanted)


def _lines_label(path: str, first: int, last: int | None) -> str:
    return f"{path}:{first}-{'' if last is None else last}"


async def window_of(engine: ContextEngine, conversation_id: ConversationId | None) -> int:
    """The window of the conversation's model, or of the default one, in tokens. Raises NotFound."""
    if conversation_id is None:
        return engine.models.default().limits.window
    return (await engine.state(conversation_id)).model.limits.window


async def estimate_tokens(
    engine: ContextEngine, conversation_id: ConversationId | None, snapshots: Sequence[Snapshot]
) -> list[int]:
    """The tokens of each snapshot in the conversation's model, or in the default one. Raises NotFound."""
    if conversation_id is None:
        model = engine.models.default()
        tokenizer, estimator = await engine.tokenizer_of(model), model.estimator
    else:
        state = await engine.state(conversation_id)
        tokenizer, estimator = state.tokenizer, state.cut.estimator
    contents = [Content(Role.USER, snapshot.shown) for snapshot in snapshots]
    raw = await tokenizer.count_contents(contents)
    return [
        estimator.part(each - MESSAGE_OVERHEAD) + tokenizer.image_tokens(content)
        for each, content in zip(raw, contents, strict=True)
    ]
