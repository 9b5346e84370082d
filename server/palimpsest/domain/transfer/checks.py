"""The checks of a conversation's file, so that its import loses nothing and breaks no invariant.

Message ids count 0, 1, 2, … and every digest follows from the messages before. Summary ids count 0, 1, 2, …; summaries
cover messages in the file, and a cut summarizes messages only by summaries in the file. The newest cut separates no
call from its result.
"""

from __future__ import annotations

import base64
import bisect
import hashlib
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from palimpsest.domain.conversation.chain import content_digest, message_digest
from palimpsest.domain.conversation.exchanges import exchange_starts
from palimpsest.domain.messages import Content, Digest, TurnId
from palimpsest.domain.transfer.conversation import (
    KINDS,
    NAMES,
    ContentLine,
    CutLine,
    ExpansionLine,
    Header,
    HiddenLine,
    Line,
    MessageLine,
    PreviewLine,
    SummaryLine,
    Transfer,
    TurnLine,
    WithdrawalLine,
)
from palimpsest.wording import counted

_MOST_FACTOR = 100
"""The largest ratio between the token counts of a public vocabulary and of a model, in either direction. No model comes
near it."""
_MOST_OVERHEAD = 1_000_000


class Fault(ValueError):
    """The fault of a line, as the rest of a sentence."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.line = line
        """The line's number; None for the line that is being read."""


class Rules:
    """The lines read so far, and the checks of the next one. Raises Fault."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.lines: dict[type[Line], list[Any]] = {kind: [] for kind in KINDS.values()}
        self.newest_cut_at = 0
        self._rank = 0
        self._turn_ids: set[TurnId] = set()
        self._pictures: dict[Digest, int] | None = None
        """The sizes of the pictures in the messages, once the bytes of one are read."""

    def add(self, number: int, line: Line) -> None:
        """Checks line `number` and adds it."""
        rank = list(NAMES).index(type(line))
        if rank < self._rank:
            raise Fault(f"a {NAMES[type(line)]} comes after lines that must follow it")
        self._rank = rank
        match line:
            case MessageLine():
                self._check_message(line)
            case TurnLine():
                self._check_turn(line)
            case SummaryLine():
                self._check_summary(line)
            case HiddenLine():
                self._check_range(line.start, line.end, "a hidden range")
                if self._last(HiddenLine) is not None and self._last(HiddenLine).start > line.start:
                    raise Fault("hidden ranges are not in order")
                if not 0 <= line.n_summaries <= len(self.lines[SummaryLine]):
                    raise Fault("it counts summaries that are not in the file")
            case ExpansionLine():
                self._check_range(line.start, line.end, "an expansion")
                self._check_order(line, (line.start, line.end), lambda each: (each.start, each.end))
            case WithdrawalLine():
                self._check_id(line.message, "a withdrawal")
                self._check_order(line, (line.message, line.rule), lambda each: (each.message, each.rule))
            case CutLine():
                self._check_cut(line)
                self.newest_cut_at = number
            case PreviewLine():
                self._check_preview(line)
            case ContentLine():
                self._check_content(line)
        self.lines[type(line)].append(line)

    def finish(self) -> None:
        """Checks that need the whole file."""
        header, messages = self.header, self.lines[MessageLine]
        if header.n_messages != len(messages):
            raise Fault(f"it announces {counted(header.n_messages, 'message')}, but the file holds {len(messages)}")
        if (header.parent is None) != (header.fork_start == 0) or header.fork_start > header.n_messages:
            raise Fault("it does not name the fork's first message of its own")
        cut = self._last(CutLine)
        if cut is not None:
            self._check_newest(cut)

    def transfer(self) -> Transfer:
        names = (field.name for field in fields(Transfer)[1:])
        kinds = zip(names, KINDS.values(), strict=True)
        return Transfer(self.header, **{name: tuple(self.lines[kind]) for name, kind in kinds})

    def _check_message(self, line: MessageLine) -> None:
        due, last = len(self.lines[MessageLine]), self._last(MessageLine)
        if line.id != due:
            raise Fault(f"message ids count 0, 1, 2, … without a gap, so this one must be {due}")
        if (line.conversation is None) == (line.id < self.header.fork_start):
            raise Fault("the messages below a fork's start, and only those, name the conversation that they belong to")
        if line.content is not None and (line.purged_role is not None or line.stand_in is not None):
            raise Fault("the message has content although it is marked as purged")
        if line.content is not None and content_digest(line.content) != line.content_digest:
            raise Fault("the message's content does not match its digest")
        derived = message_digest(
            None if last is None else last.digest,
            line.conversation or self.header.id,
            line.id,
            line.created_at,
            line.turn,
            line.content_digest,
            line.author,
        )
        if derived != line.digest:
            raise Fault("the message's digest does not follow from it and the messages before it")

    def _check_turn(self, line: TurnLine) -> None:
        self._check_id(line.user_message, "a turn")
        self._check_order(line, (line.user_message, line.id), lambda each: (each.user_message, each.id))
        if line.id in self._turn_ids:
            raise Fault("the turn occurs twice")
        if not line.state.is_final:
            raise Fault("the turn has not ended")
        self._turn_ids.add(line.id)

    def _check_summary(self, line: SummaryLine) -> None:
        known: list[SummaryLine] = self.lines[SummaryLine]
        if line.id != len(known):
            raise Fault(f"summary ids count 0, 1, 2, … without a gap, so this one must be {len(known)}")
        self._check_range(line.start, line.end, "a summary")
        if line.level < 1 or min(line.original_tokens, line.duration_ms, line.input_tokens, line.output_tokens) < 0:
            raise Fault("a number of the summary is too small")
        for child in line.children:
            if not 0 <= child < line.id:
                raise Fault("the summary is made of one that does not come before it")
            lower = known[child]
            if lower.start < line.start or lower.end > line.end or lower.level >= line.level:
                raise Fault("the summary is made of one whose level is not lower, or that reaches beyond its messages")

    def _check_cut(self, line: CutLine) -> None:
        if line.version < 1:
            raise Fault("the versions of cuts begin at 1")
        self._check_order(line, line.version, lambda each: each.version)
        if (
            not (1 / _MOST_FACTOR <= line.factor <= _MOST_FACTOR and 0 <= line.sigma <= _MOST_FACTOR)
            or not 0 <= line.overhead <= _MOST_OVERHEAD
            or min(line.tokens_before, line.tokens_after, line.duration_ms) < 0
        ):
            raise Fault("a number of the cut is out of its range")
        if len(dict(line.saved)) < len(line.saved):
            raise Fault("the cut names a strategy twice")
        if not 0 <= line.end <= len(self.lines[MessageLine]):
            raise Fault("the cut ends behind the last message")
        position = 0
        for block in line.blocks:
            if not 0 <= block < len(self.lines[SummaryLine]):
                raise Fault("messages are summarized in the cut by a summary that is not in the file")
            summary = self.lines[SummaryLine][block]
            if summary.start < position:
                raise Fault("the summaries of the cut overlap or are not in order")
            position = summary.end
        position = 0
        for start, end in line.left_out:
            self._check_range(start, end, "a range that is left out")
            if start < position:
                raise Fault("the ranges that the cut leaves out overlap or are not in order")
            position = end

    def _check_preview(self, line: PreviewLine) -> None:
        self._check_id(line.message, "a preview")
        self._check_order(line, line.message, lambda each: each.message)
        whole = self.lines[MessageLine][line.message].content
        if whole is not None and _pairing(whole) != _pairing(line.content):
            raise Fault("the preview has another role, or other tool calls, than its message")

    def _check_content(self, line: ContentLine) -> None:
        self._check_order(line, line.digest, lambda each: each.digest)
        if self._pictures is None:
            named = [image for each in self.lines[MessageLine] if each.content for image in each.content.images]
            self._pictures = {image.digest: image.size_bytes for image in named}
        try:
            data = base64.b64decode(line.data, validate=True)
        except ValueError:
            raise Fault("the bytes of a picture are no base64") from None
        if self._pictures.get(line.digest) != len(data) or hashlib.sha256(data).hexdigest() != line.digest:
            raise Fault("the bytes are of no picture in the messages")

    def _check_newest(self, cut: CutLine) -> None:
        """The blocks of the newest cut begin and end where exchanges do."""
        gone = {message_id for each in self.lines[HiddenLine] for message_id in range(each.start, each.end)}
        visible = [message for message in self.lines[MessageLine] if message.id not in gone]
        ids = [message.id for message in visible]
        contents = [message.content for message in visible if message.content is not None]
        is_whole = len(contents) == len(visible)  # a purge removes the roles, so exchanges cannot be found any more
        starts = {ids[index] for index in exchange_starts(contents)} if is_whole else set(ids)
        for block in cut.blocks:
            summary: SummaryLine = self.lines[SummaryLine][block]
            for edge in (bisect.bisect_left(ids, summary.start), bisect.bisect_left(ids, summary.end)):
                if edge < len(ids) and ids[edge] not in starts:
                    raise Fault("the newest cut separates a tool call from its result", self.newest_cut_at)

    def _last(self, kind: type[Line]) -> Any:
        return self.lines[kind][-1] if self.lines[kind] else None

    def _check_order(self, line: Line, key: Any, key_of: Callable[[Any], Any]) -> None:
        last = self._last(type(line))
        if last is not None and key_of(last) >= key:
            raise Fault(f"lines of type {NAMES[type(line)]} are out of order or repeated")

    def _check_id(self, message_id: int, what: str) -> None:
        if not 0 <= message_id < len(self.lines[MessageLine]):
            raise Fault(f"{what} refers to a message that is not in the file")

    def _check_range(self, start: int, end: int, what: str) -> None:
        if not 0 <= start < end <= len(self.lines[MessageLine]):
            raise Fault(f"{what} refers to messages that are not in the file")


def _pairing(content: Content) -> tuple[Any, ...]:
    return content.role, [call.call_id for call in content.calls], [result.call_id for result in content.results]
