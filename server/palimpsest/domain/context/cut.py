"""The cut: which representation stands for each part of the history now.

A cut is a list of pieces that partition the history, oldest first: blocks (summaries) and live messages. Between
compactions messages are only appended to it, so a request begins with the previous one. Nothing here writes
a summary; these functions say what to summarize, and put a written summary in its place.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from palimpsest.domain.context.measured import Part
from palimpsest.domain.context.summaries.node import Summary, children_of, render_summary, roots
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.conversation.exchanges import exchange_starts
from palimpsest.domain.messages import Content, MessageId, Role, SummaryId, TextPart


class CutCause(StrEnum):
    """Why a cut was chosen. A prefix breaks for no other reason."""

    FIRST = "first"
    THRESHOLD = "threshold"
    MODEL = "model"
    USER = "user"
    ROLLBACK = "rollback"
    FRAME = "frame"
    """Tools, system prompt or instruction files changed."""
    LAYOUT = "layout"
    """The layout `librarian` sends only what is new, every turn."""
    UNDO = "undo"
    REDO = "redo"


@dataclass(frozen=True, slots=True)
class SummaryPiece:
    """A summary standing in the context."""

    summary: Summary
    tokens: int
    """Raw tokens as rendered."""
    prose_tokens: int = 0
    """Those of the model's text behind a page, its heading included."""
    content: Content = field(init=False, compare=False, repr=False)
    """As it is sent. Made once, like `part`, because a piece stands in many requests."""
    part: Part = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", render_summary(self.summary))
        object.__setattr__(self, "part", Part(self.start, self.end, self.tokens, "summary"))

    @property
    def start(self) -> MessageId:
        return self.summary.start

    @property
    def end(self) -> MessageId:
        return self.summary.end


@dataclass(frozen=True, slots=True)
class MessagePiece:
    """A message standing for itself, or a preview of it when it is too large; the whole stays in the store."""

    message: StoredMessage
    original_tokens: int
    """Raw tokens of the whole message, without its pictures."""
    preview: Content | None = None
    preview_tokens: int = 0
    injection: str = ""
    """What is added behind the message until the next compaction, and is no part of it."""
    injection_tokens: int = 0
    injection_ids: tuple[int, ...] = ()
    """The stored injections that `injection` was joined of."""
    note: str = ""
    """What is sent as a message of its own behind it, until the next compaction: what was recalled for a step."""
    note_tokens: int = 0
    note_id: int | None = None
    """The stored injection that `note` is."""
    image_tokens: int = 0
    """What the pictures that are sent with it take, in the model's own tokens."""
    tokens: int = field(init=False, compare=False, repr=False)
    """Raw tokens as it is sent, with all that is added behind it. The model's tokens of pictures count as raw ones: a
    raw token is about one of the model's, or more. So what is planned by these leaves room; estimates are exact."""
    part: Part = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        shown = self.original_tokens if self.preview is None else self.preview_tokens
        texts = shown + self.injection_tokens + self.note_tokens
        kind = _kind_of(self.message.content)
        object.__setattr__(self, "tokens", texts + self.image_tokens)
        object.__setattr__(self, "part", Part(self.start, self.end, texts, kind, self.image_tokens))

    @property
    def start(self) -> MessageId:
        return self.message.id

    @property
    def end(self) -> MessageId:
        return MessageId(self.message.id + 1)

    @property
    def content(self) -> Content:
        """As it is sent."""
        shown = self.message.content if self.preview is None else self.preview
        return replace(shown, parts=(*shown.parts, TextPart(self.injection))) if self.injection else shown

    def without_injection(self) -> MessagePiece:
        """The message without anything that was added behind it."""
        shown = self.original_tokens, self.preview, self.preview_tokens
        return MessagePiece(self.message, *shown, image_tokens=self.image_tokens)


Piece = SummaryPiece | MessagePiece


def _kind_of(content: Content) -> str:
    """What texts like it have in common, for what a service counts: who said it, or which tool."""
    if content.role is Role.TOOL and (results := content.results):
        return f"tool {results[0].name}"
    return content.role.value


def is_partition(pieces: Sequence[Piece], n_messages: int, hidden: Collection[MessageId] = ()) -> bool:
    """Whether the pieces cover every message that is not hidden exactly once, in order, and stand for nothing else.

    A block may reach over hidden messages; a live message is never one. Messages that are left out count as hidden.
    """
    position = 0
    for piece in pieces:
        while position in hidden:
            position += 1
        if piece.start != position:
            return False
        position = piece.end
    while position in hidden:
        position += 1
    return position == n_messages


def total_tokens(pieces: Sequence[Piece]) -> int:
    return sum([piece.tokens for piece in pieces])  # a list is summed in two thirds of a generator's time


def image_tokens(pieces: Sequence[Piece]) -> int:
    """What the pictures of the pieces take, in the model's own tokens."""
    return sum([piece.part.image_tokens for piece in pieces])


def prose_tokens(pieces: Sequence[Piece]) -> int:
    """Raw tokens of the models' texts behind pages."""
    return sum(piece.prose_tokens for piece in pieces if isinstance(piece, SummaryPiece))


def piece_starts(pieces: Sequence[Piece]) -> list[int]:
    """Indexes of pieces where a block or an exchange begins, ascending: the only places where a cut may be made."""
    starts: list[int] = []
    index = 0
    while index < len(pieces):
        if isinstance(pieces[index], SummaryPiece):
            starts.append(index)
            index += 1
            continue
        run: list[Content] = []
        while index + len(run) < len(pieces) and isinstance(piece := pieces[index + len(run)], MessagePiece):
            run.append(piece.message.content)
        starts.extend(index + offset for offset in exchange_starts(run))
        index += len(run)
    return starts


def keep_from(pieces: Sequence[Piece], keep_tokens: int, preserve_recent: int) -> int:
    """Index of the first piece that stays verbatim: whole newest exchanges within `keep_tokens` (raw), and at least
    those that hold the `preserve_recent` newest messages. A block ends the stretch."""
    boundary, kept_tokens, kept_messages = len(pieces), 0, 0
    for start in reversed(piece_starts(pieces)):
        if isinstance(pieces[start], SummaryPiece):
            break
        size = total_tokens(pieces[start:boundary])
        if kept_messages >= preserve_recent and kept_tokens + size > keep_tokens:
            break
        kept_tokens += size
        kept_messages += boundary - start
        boundary = start
    return boundary


def runs_to_summarize(
    pieces: Sequence[Piece], boundary: int, protected: Collection[MessageId], isolated_min_tokens: int
) -> list[tuple[int, int]]:
    """Stretches [i, j) of live pieces before `boundary`, oldest first, each to become one new block.

    Protected messages stay. A stretch in front of an existing block stays too while it is smaller than
    `isolated_min_tokens`: replacing it would rewrite the prefix for little.
    """
    last_block = max((i for i, piece in enumerate(pieces[:boundary]) if isinstance(piece, SummaryPiece)), default=-1)
    runs: list[tuple[int, int]] = []
    start: int | None = None
    for index in range(boundary + 1):
        piece = pieces[index] if index < boundary else None
        if isinstance(piece, MessagePiece) and piece.message.id not in protected:
            start = index if start is None else start
        elif start is not None:
            if start > last_block or total_tokens(pieces[start:index]) >= isolated_min_tokens:
                runs.append((start, index))
            start = None
    return runs


def leave_out(
    pieces: Sequence[Piece], target_tokens: int, preserve_recent: int, protected: Collection[MessageId]
) -> tuple[list[Piece], tuple[tuple[MessageId, MessageId], ...]]:
    """The pieces without the oldest whole exchanges, so that the rest takes at most `target_tokens` (raw) if it can;
    and the ranges [start, end) of what is missing, oldest first. Protected messages and the `preserve_recent` newest
    ones stay."""
    boundary = keep_from(pieces, 0, preserve_recent)
    starts = [*(start for start in piece_starts(pieces) if start < boundary), boundary]
    total, gone = total_tokens(pieces), set[int]()
    for first, after in itertools.pairwise(starts):
        if total <= target_tokens:
            break
        unit = pieces[first:after]
        if not any(isinstance(piece, MessagePiece) and piece.message.id in protected for piece in unit):
            gone.update(range(first, after))
            total -= total_tokens(unit)
    ranges: list[tuple[MessageId, MessageId]] = []
    for index in sorted(gone):
        piece = pieces[index]
        if ranges and index - 1 in gone:
            ranges[-1] = (ranges[-1][0], piece.end)
        else:
            ranges.append((piece.start, piece.end))
    return [piece for index, piece in enumerate(pieces) if index not in gone], tuple(ranges)


def between_verbatim(pieces: Sequence[Piece], boundary: int, verbatim: Collection[MessageId]) -> list[tuple[int, int]]:
    """Stretches [i, j) before `boundary`, as long as they can be, that hold no message of `verbatim`."""
    stretches: list[tuple[int, int]] = []
    start: int | None = None
    for index in range(boundary + 1):
        piece = pieces[index] if index < boundary else None
        if piece is not None and not (isinstance(piece, MessagePiece) and piece.message.id in verbatim):
            start = index if start is None else start
        elif start is not None:
            stretches.append((start, index))
            start = None
    return stretches


def adopt(pieces: Sequence[Piece], block: SummaryPiece) -> list[Piece]:
    """The pieces with `block` in place of what it covers.

    Raises ValueError when its range does not begin and end where pieces do, or would separate an exchange.
    """
    starts = piece_starts(pieces)
    first = next((i for i in starts if pieces[i].start == block.start), None)
    if first is None:
        raise ValueError(f"message {block.start} does not begin an exchange")
    after = first
    while after < len(pieces) and pieces[after].start < block.end:
        after += 1
    if pieces[after - 1].end != block.end or (after < len(pieces) and after not in starts):
        raise ValueError(f"message {block.end} does not begin an exchange")
    return [*pieces[:first], block, *pieces[after:]]


def widen(pieces: Sequence[Piece], start: MessageId, end: MessageId) -> tuple[int, int]:
    """Indexes [i, j) of the whole blocks and exchanges that [start, end) touches."""
    starts = piece_starts(pieces)
    bounds = [*starts, len(pieces)]
    first, last = len(pieces), 0
    for begin, stop in itertools.pairwise(bounds):
        if pieces[begin].start < end and pieces[stop - 1].end > start:
            first, last = min(first, begin), max(last, stop)
    return first, max(first, last)


def choose(
    messages: Sequence[MessagePiece],
    summaries: Sequence[Summary],
    count_block: Callable[[Summary], int],
    target_tokens: int,
    preserve_recent: int,
    protected: Collection[MessageId],
) -> list[Piece]:
    """The best cut that existing summaries allow, for causes (b) to (d).

    Begins with the coarsest representation of everything, then refines newest to oldest, originals before lower
    summaries, while the whole stays within `target_tokens` (raw). May exceed the target when no summary exists for
    what is too much; nothing is left out.

    `messages` are all visible messages of the conversation, oldest first.
    """
    first_kept = keep_from(messages, 0, preserve_recent)
    kept_id = messages[first_kept].start if first_kept < len(messages) else math.inf
    by_id = {summary.id: summary for summary in summaries}

    def is_usable(node: Summary) -> bool:
        return node.end <= kept_id and not any(node.start <= each < node.end for each in protected)

    pieces: list[Piece] = _lay(roots([s for s in summaries if is_usable(s)]), messages, 0, len(messages), count_block)
    total = total_tokens(pieces)
    index = len(pieces) - 1
    while index >= 0:
        piece = pieces[index]
        if isinstance(piece, SummaryPiece):
            finer = _refine(piece, messages, by_id, count_block, target_tokens - total + piece.tokens)
            if finer is not None:
                total += total_tokens(finer) - piece.tokens
                pieces[index : index + 1] = finer
                index += len(finer)
        index -= 1
    return pieces


def _refine(
    block: SummaryPiece,
    messages: Sequence[MessagePiece],
    by_id: Mapping[SummaryId, Summary],
    count_block: Callable[[Summary], int],
    room: int,
) -> list[Piece] | None:
    originals: list[Piece] = list(messages[_place(messages, block.start) : _place(messages, block.end)])
    if total_tokens(originals) <= room:
        return originals
    children = children_of(block.summary, by_id)
    if not children:
        return None
    finer = _lay(children, messages, _place(messages, block.start), _place(messages, block.end), count_block)
    return finer if total_tokens(finer) <= room else None


def _lay(
    nodes: Sequence[Summary],
    messages: Sequence[MessagePiece],
    start: int,
    end: int,
    count_block: Callable[[Summary], int],
) -> list[Piece]:
    """Blocks for `nodes`, live messages for what lies between them. `start` and `end` are places in `messages`."""
    pieces: list[Piece] = []
    position = start
    for node in nodes:
        pieces.extend(messages[position : _place(messages, node.start)])
        pieces.append(SummaryPiece(node, count_block(node)))
        position = _place(messages, node.end)
    pieces.extend(messages[position:end])
    return pieces


def _place(messages: Sequence[MessagePiece], message_id: int) -> int:
    """Where the first message of that id or a later one stands: ids have gaps where messages were rolled back."""
    return bisect.bisect_left(messages, message_id, key=lambda each: each.start)


def running_request(pieces: Sequence[Piece]) -> frozenset[MessageId]:
    """The id of the newest user message, which every request of its turn holds verbatim; empty when there is none."""
    for piece in reversed(pieces):
        if isinstance(piece, MessagePiece) and piece.message.content.role is Role.USER:
            return frozenset((piece.message.id,))
    return frozenset()


def runs_of_blocks(pieces: Sequence[Piece]) -> list[tuple[int, int]]:
    """The stretches [i, j) of adjacent summaries."""
    runs: list[tuple[int, int]] = []
    for index, piece in enumerate(pieces):
        if isinstance(piece, SummaryPiece):
            first = runs.pop()[0] if runs and runs[-1][1] == index else index
            runs.append((first, index + 1))
    return runs
