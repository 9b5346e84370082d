"""The journal of a step, and the messages that follow from it.

The same function turns a journal into messages when a step ends well, when it is cancelled or fails, and when its
server died. So the stored messages are what an editor was shown.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from enum import StrEnum
from typing import Final

from palimpsest.domain.messages import (
    Content,
    ImagePart,
    MessageStatus,
    OpaquePart,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    canonical_json,
    tool_result,
)
from palimpsest.domain.models.provider import TokenUsage


class EventType(StrEnum):
    """The types of events of the stream and of tools."""

    PAUSE = "pause"
    COUNTED = "counted"
    TEXT = "text_delta"
    THINKING = "thinking_delta"
    TOOL_CALL = "tool_call"
    TOOL_ARGUMENTS = "tool_arguments"
    TOOL_START = "tool_start"
    TOOL_ASKED = "tool_asked"
    """The call waits for the user's word before it does anything."""
    TOOL_ALLOWED = "tool_allowed"
    """The user agreed; what follows may take effect."""
    TOOL_OUTPUT = "tool_output"
    TOOL_RESULT = "tool_result"
    IMAGE = "image"
    """A picture of a tool's result, before the result."""
    OPAQUE = "opaque"
    DONE = "done"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class JournalEvent:
    """One event of a running step, as it is stored and shown."""

    type: EventType
    text: str = ""
    """A piece of text, a tool's result, the sentence of an error, or canonical JSON for `pause`, `counted`, `image`,
    `opaque` and `done`."""
    call_id: str | None = None
    name: str | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Numbered:
    """An event with its number in the turn."""

    seq: int
    event: JournalEvent


_MERGEABLE = frozenset((EventType.TEXT, EventType.THINKING, EventType.TOOL_ARGUMENTS, EventType.TOOL_OUTPUT))


def merge(events: Iterable[JournalEvent]) -> list[JournalEvent]:
    """The events with adjacent pieces of the same text joined: one row each, and one message to the editor."""
    merged: list[JournalEvent] = []
    for (kind, call_id), neighbours in itertools.groupby(events, key=lambda event: (event.type, event.call_id)):
        if kind in _MERGEABLE:
            first, *rest = neighbours
            text = "".join((first.text, *(event.text for event in rest)))  # one join for 100,000 pieces
            merged.append(JournalEvent(kind, text, call_id, rest[-1].name) if rest else first)
        else:
            merged += neighbours
    return merged


def shown_text(events: Iterable[JournalEvent]) -> str:
    """The text of the answer as an editor has shown it."""
    return "".join(event.text for event in events if event.type is EventType.TEXT)


class Ending(StrEnum):
    """The ways in which a step ends."""

    COMPLETE = "complete"
    CANCELLED = "cancelled"
    ERRORED = "errored"
    INTERRUPTED = "interrupted"


CUT_SHORT: Final = {
    Ending.CANCELLED: "The tool call was cancelled; it is unknown whether it took effect.",
    Ending.ERRORED: "The step failed while the tool call ran; it is unknown whether it took effect.",
    Ending.INTERRUPTED: "The tool call was interrupted; it is unknown whether it took effect.",
}
"""The result of a call that was started and whose end was not recorded. Nothing runs it again: the model may call
again, and a tool that changes something asks the user first."""
_WRITTEN_CHARACTERS: Final = 8_000
"""Of what such a call had written: the newest."""
NEVER_RUN: Final = "The tool call was not run, because the turn ended first."
NEVER_ALLOWED: Final = "The turn ended before the user said whether this may be done, so nothing was done."


def counted_event(usage: TokenUsage) -> JournalEvent:
    """The event of what the service counted of the request, in case its answer breaks off."""
    return JournalEvent(EventType.COUNTED, canonical_json(astuple(usage)))


def done_event(usage: TokenUsage | None) -> JournalEvent:
    """The event at the end of an answer, with what its service counted, which a dead server would take along."""
    counts = () if usage is None else astuple(usage)
    return JournalEvent(EventType.DONE, canonical_json(counts) if counts else "")


def usage_of(events: Iterable[JournalEvent]) -> TokenUsage | None:
    """What the service counted, as far as the journal has it."""
    done = next((event for event in events if event.type is EventType.DONE and event.text), None)
    return None if done is None else TokenUsage(*json.loads(done.text))


def counted_of(text: str) -> TokenUsage:
    """The count in a `counted` event."""
    return TokenUsage(*json.loads(text))


def is_done(events: Iterable[JournalEvent]) -> bool:
    """Whether the model finished its message."""
    return any(event.type is EventType.DONE for event in events)


def to_messages(events: Sequence[JournalEvent], ending: Ending) -> list[Content]:
    """The messages of a step: the assistant's, then a result for each of its calls; empty when the model sent nothing.

    A call whose arguments were incomplete when the stream broke off is left out: it was never made. Calls that share an
    id get distinct ids, in order, and so do their results.
    """
    done = is_done(events)
    parts = _assistant_parts(events, keep_calls=done)
    if not parts:
        return []
    status = MessageStatus.COMPLETE if done else MessageStatus(ending.value)
    messages = [Content(Role.ASSISTANT, tuple(parts), status)]
    results = {event.call_id: event for event in events if event.type is EventType.TOOL_RESULT}
    started = {event.call_id for event in events if event.type is EventType.TOOL_START}
    shown = [event for event in events if event.type is EventType.IMAGE]
    marks = {each.call_id: each.type for each in events if each.type in (EventType.TOOL_ASKED, EventType.TOOL_ALLOWED)}
    for call in messages[0].calls:
        if (result := results.get(call.call_id)) is not None:
            images = [_image_of(each) for each in shown if each.call_id == call.call_id]
            messages.append(tool_result(call, result.text, is_error=result.is_error, images=images))
        elif marks.get(call.call_id) is EventType.TOOL_ASKED:
            messages.append(tool_result(call, NEVER_ALLOWED, is_error=True))
        elif call.call_id in started and ending in CUT_SHORT:
            messages.append(tool_result(call, CUT_SHORT[ending] + _written_by(call.call_id, events), is_error=True))
        else:
            messages.append(tool_result(call, NEVER_RUN, is_error=True))
    return messages


def _written_by(call_id: str, events: Iterable[JournalEvent]) -> str:
    """What a call had written, for the result of one that was cut short; empty when it had written nothing."""
    written = "".join(each.text for each in events if each.type is EventType.TOOL_OUTPUT and each.call_id == call_id)
    if not written.strip():
        return ""
    left_out = "[…] " if len(written) > _WRITTEN_CHARACTERS else ""
    return f" It had written:\n{left_out}{written[-_WRITTEN_CHARACTERS:].rstrip()}"


def _assistant_parts(events: Sequence[JournalEvent], *, keep_calls: bool) -> list[Part]:
    parts: list[Part] = []
    events = _with_distinct_calls(events)
    arguments: dict[str, list[str]] = {}
    for event in events:
        if event.type is EventType.TOOL_ARGUMENTS and event.call_id:
            arguments.setdefault(event.call_id, []).append(event.text)
    for event in merge(e for e in events if e.type is not EventType.TOOL_ARGUMENTS):
        match event.type:
            case EventType.TEXT:
                parts.append(TextPart(event.text))
            case EventType.THINKING:
                parts.append(ReasoningPart(event.text))
            case EventType.TOOL_CALL if keep_calls and event.call_id is not None:
                written = "".join(arguments.get(event.call_id, ())) or "{}"
                parts.append(ToolCallPart(event.call_id, event.name or "", written))
            case EventType.OPAQUE:
                provider, _, rest = event.text.partition("\n")
                model, _, data = rest.partition("\n")
                parts.append(OpaquePart(provider, model, data))
            case _:
                pass
    return [part for part in parts if not (isinstance(part, (TextPart, ReasoningPart)) and not part.text)]


def _with_distinct_calls(events: Sequence[JournalEvent]) -> list[JournalEvent]:
    """The model's events, with another id for a call that repeats an earlier one's. Arguments belong to the newest call
    with their id."""
    taken = {event.call_id for event in events if event.type is EventType.TOOL_CALL}
    called: dict[str | None, str | None] = {}
    numbers: dict[str | None, Iterator[int]] = {}
    found: list[JournalEvent] = []
    for event in events:
        if event.type is EventType.TOOL_CALL:
            call_id = event.call_id
            if call_id in called:
                tried = numbers.setdefault(call_id, itertools.count(2))
                call_id = next(name for n in tried if (name := f"{event.call_id}-{n}") not in taken)
                taken.add(call_id)
            called[event.call_id] = call_id
        if event.type in (EventType.TOOL_CALL, EventType.TOOL_ARGUMENTS):
            event = replace(event, call_id=called.get(event.call_id, event.call_id))
        found.append(event)
    return found


def has_answer(events: Iterable[JournalEvent]) -> bool:
    """Whether anything of an answer came."""
    return any(event.type not in (EventType.PAUSE, EventType.COUNTED) for event in events)


@dataclass(frozen=True, slots=True)
class ToldPause:
    """A pause before the model is asked again, as it is stored and shown."""

    reason: str
    """A sentence."""
    ms: int
    n_failed: int
    """The number of attempts that failed."""

    @staticmethod
    def of(event: JournalEvent) -> ToldPause:
        """The pause of a `pause` event."""
        told = json.loads(event.text)
        return ToldPause(told["reason"], told["ms"], told["nFailed"])

    def to_event(self) -> JournalEvent:
        told = {"reason": self.reason, "ms": self.ms, "nFailed": self.n_failed}
        return JournalEvent(EventType.PAUSE, json.dumps(told, ensure_ascii=False))


def image_event(part: ImagePart, call_id: str) -> JournalEvent:
    """The event of a picture in the result of a call, which `to_messages` turns back into `part`."""
    return JournalEvent(EventType.IMAGE, canonical_json({name: getattr(part, name) for name in _IMAGE}), call_id)


def _image_of(event: JournalEvent) -> ImagePart:
    return ImagePart(**json.loads(event.text))


_IMAGE: Final = ("label", "digest", "media_type", "width", "height", "size_bytes")


def opaque_event(part: OpaquePart) -> JournalEvent:
    """The event that `to_messages` turns back into `part`."""
    return JournalEvent(EventType.OPAQUE, f"{part.provider}\n{part.model}\n{part.data}")
