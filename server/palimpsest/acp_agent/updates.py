"""Session updates: the events of a running turn and the stored messages, in the protocol's form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from acp import schema
from acp.helpers import resource_link_block, start_tool_call, text_block, tool_content, update_tool_call

from palimpsest.domain import foreign_json
from palimpsest.domain.approvals import PROPOSE_EDIT, RUN_COMMAND, show_command, visible
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import (
    AttachmentPart,
    ImagePart,
    MessageStatus,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    TurnId,
)
from palimpsest.domain.strategy_names import SUMMARIZING
from palimpsest.domain.turns.journal import EventType, Numbered
from palimpsest.services.events import ContextEvent

Update = Any
"""One of the protocol's session updates."""

_KINDS: Final = {
    "read_file": "read",
    "list_files": "search",
    "search_files": "search",
    "recall": "search",
    "tool_output": "read",
    PROPOSE_EDIT: "edit",
    RUN_COMMAND: "execute",
}
_SUBJECTS: Final = ("path", "query", "pattern", "command")
"""The arguments that make a good title of a call; the first one present counts."""
_LONGEST_TITLE: Final = 120


def kind_of(tool: str) -> Any:
    """The protocol's kind of a tool, from which clients choose an icon."""
    return _KINDS.get(tool, "other")


def agent_text(text: str, message: str | None = None) -> Update:
    """Text of the assistant. `message`: an id that changes with each message."""
    return schema.AgentMessageChunk(session_update="agent_message_chunk", content=text_block(text), message_id=message)


def note(sentence: str) -> Update:
    """A text of Palimpsest itself, which is not part of a message."""
    return agent_text(f"\n\n*Palimpsest: {sentence}*\n\n", "note")


def thought(text: str, message: str | None = None) -> Update:
    return schema.AgentThoughtChunk(session_update="agent_thought_chunk", content=text_block(text), message_id=message)


@dataclass(slots=True)
class _Call:
    id: str
    """An id of a call that is unique in the session, unlike that of the service."""
    name: str
    arguments: str = ""


@dataclass(slots=True)
class TurnUpdates:
    """Makes updates from the events of one turn, in order. The first event may be in the middle of the turn."""

    root: Path
    turn_id: TurnId
    running_call: str | None = None
    """The protocol's id of the running tool call."""
    _calls: dict[str, _Call] = field(default_factory=dict)

    def of(self, numbered: Numbered) -> Update | None:
        """The update for an event; None for one that is not shown."""
        event = numbered.event
        match event.type:
            case EventType.TEXT:
                return agent_text(event.text)
            case EventType.THINKING:
                return thought(event.text)
            case EventType.TOOL_CALL if event.call_id is not None:
                call = _Call(f"{self.turn_id}/{numbered.seq}", event.name or "")
                self._calls[event.call_id] = call
                return start_tool_call(call.id, visible(call.name), kind=kind_of(call.name), status="pending")
            case EventType.TOOL_ARGUMENTS if (known := self._calls.get(event.call_id or "")) is not None:
                known.arguments += event.text
                return None
            case EventType.TOOL_START if (known := self._calls.get(event.call_id or "")) is not None:
                self.running_call = known.id
                return update_tool_call(known.id, status="in_progress", **_described(known, self.root))
            case EventType.TOOL_RESULT if (known := self._calls.get(event.call_id or "")) is not None:
                self.running_call = None
                return _ended(known.id, event.text, is_error=event.is_error)
            case _:
                return None


def replay(messages: Iterable[StoredMessage], root: Path) -> Iterator[Update]:
    """The updates for consecutive stored messages, oldest first, each call with its result."""
    calls: dict[str, str] = {}
    for message in messages:
        of = str(message.id)
        for index, part in enumerate(message.content.parts):
            match part:
                case TextPart() if message.content.role is Role.USER:
                    yield _user(text_block(part.text), of)
                case TextPart():
                    yield agent_text(part.text, of)
                case ReasoningPart():
                    yield thought(part.text, of)
                case AttachmentPart():
                    yield _user(resource_link_block(part.label, _uri(root, part.label)), of)
                case ImagePart():
                    yield _user(text_block(part.line()), of)
                case ToolCallPart():
                    call = _Call(f"{message.id}/{index}", part.name, part.arguments)
                    calls[part.call_id] = call.id
                    described = {"title": visible(call.name), **_described(call, root)}
                    yield start_tool_call(call.id, kind=kind_of(call.name), status="pending", **described)
                case ToolResultPart() if part.call_id in calls:
                    yield _ended(calls[part.call_id], part.text, is_error=part.is_error)
                case _:
                    pass
        if message.content.status is not MessageStatus.COMPLETE:
            yield note(_ENDINGS[message.content.status])


_ENDINGS: Final = {
    MessageStatus.CANCELLED: "this answer was stopped. Its text so far is kept.",
    MessageStatus.ERRORED: "this answer broke off with an error. Its text so far is kept.",
    MessageStatus.INTERRUPTED: "this answer broke off, because its server ended. Its text so far is kept.",
}


def context_note(event: ContextEvent) -> Update | None:
    """A note about the context for the waiting user; None for an event for experts only."""
    match event.type:
        case ContextEventType.SUMMARIZATION_START if event.strategy in SUMMARIZING:
            return thought("Summarizing older messages …\n")
        case ContextEventType.LEFT_OUT if event.left_out:
            ranges = ", ".join(f"{start} to {after - 1}" for start, after in event.left_out)
            return note(f"the context is full, so messages {ranges} are no longer sent to the model. They are kept.")
        case ContextEventType.RULES_CAP:
            return note("there are more rules than fit, so the oldest are ordinary text from now on.")
        case _:
            return None


def _user(block: Any, message: str) -> Update:
    return schema.UserMessageChunk(session_update="user_message_chunk", content=block, message_id=message)


def _ended(call: str, text: str, *, is_error: bool) -> Update:
    content = [tool_content(text_block(text))]
    return update_tool_call(call, status="failed" if is_error else "completed", content=content)


def _described(call: _Call, root: Path) -> dict[str, Any]:
    """The title, input and place of a call with complete arguments; empty when they are not a JSON object."""
    arguments = foreign_json.object_in(call.arguments)
    if arguments is None:
        return {}
    described: dict[str, Any] = {"title": _title(call.name, arguments), "raw_input": arguments}
    path = arguments.get("path")
    if isinstance(path, str) and path and "\0" not in path:
        described["locations"] = [schema.ToolCallLocation(path=str(root / path))]
    return described


def _title(name: str, arguments: Mapping[str, Any]) -> str:
    subject = next((arguments[key] for key in _SUBJECTS if arguments.get(key)), None)
    if isinstance(subject, list):
        subject = show_command([str(word) for word in subject])
    if not isinstance(subject, str):
        return visible(name)
    title = f"{visible(name)}: {visible(subject)}"
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def _uri(root: Path, label: str) -> str:
    """The place of the file in an attachment's label; None when the label names no file."""
    return (root / label.rpartition(":")[0]).as_uri() if ":" in label else (root / label).as_uri()
