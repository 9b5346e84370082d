"""Models that an editor offers, such as those of VS Code's own chat: the server asks the editor, which asks them."""

from __future__ import annotations

import enum
from typing import Any

import attrs

from palimpsest.wire.areas.conversations import MessageRole
from palimpsest.wire.declare import Direction, Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class EditorModelInfo(Wire):
    """A model that this editor can ask. `model/list` names it `editor/ID`."""

    id: str
    """The editor's name for it, which stays the same from one start to the next: 1 to 200 printable characters."""
    name: str
    """How people name it."""
    max_input_tokens: int
    """The most it takes in one request, at least 2,048; a model that takes less is left out."""
    family: str | None = None
    """Which public model it is, such as `gpt-4o`: its tokens are counted as that one's."""
    max_output_tokens: int | None = None
    """The longest answer it gives."""
    supports_tools: bool | None = None
    """Whether it may be offered tools. Absent: it may."""


@attrs.frozen(eq=False, repr=False)
class EditorModelsChangedParams(Wire):
    """The models this editor offers from now on, in the place of those it offered before. They go when it leaves."""

    models: list[EditorModelInfo]
    """May be empty. Of two with one id the first counts."""


class EditorModelPartType(enum.StrEnum):
    """What a part of a message holds."""

    TEXT = "text"
    """`text`."""
    TOOL_CALL = "toolCall"
    """A call that the model made: `callId`, `name`, `arguments`."""
    TOOL_RESULT = "toolResult"
    """What came of a call: `callId`, `name`, `text`, `isError`."""


@attrs.frozen(eq=False, repr=False)
class EditorModelPart(Wire):
    """A part of a message. Which fields are present depends on `type`."""

    type: EditorModelPartType
    """What it holds."""
    text: str | None = None
    """The text, or the result."""
    call_id: str | None = None
    """The call."""
    name: str | None = None
    """The tool."""
    arguments: dict[str, Any] | None = None
    """The call's arguments."""
    is_error: bool | None = None
    """Whether the result is a failure."""


@attrs.frozen(eq=False, repr=False)
class EditorModelMessage(Wire):
    """A message of a request."""

    role: MessageRole
    """Who said it. Two in a row may have the same role."""
    parts: list[EditorModelPart]
    """In order, at least one."""


@attrs.frozen(eq=False, repr=False)
class EditorModelTool(Wire):
    """A tool that the model may call. The server runs it."""

    name: str
    """What the model calls it."""
    description: str
    """What it does and when to use it, for the model."""
    parameters: dict[str, Any]
    """JSON Schema of the arguments object."""


@attrs.frozen(eq=False, repr=False)
class AskEditorModelParams(Wire):
    """One model call. It is cancelled when the turn is."""

    request_id: str
    """Names the call in `editorModel/delta`."""
    model: str
    """The id under which this editor offers the model."""
    system: str
    """What the model is told before everything else. May be empty."""
    messages: list[EditorModelMessage]
    """Oldest first."""
    max_output_tokens: int
    """What there is room for in an answer."""
    tools: list[EditorModelTool] | None = None
    """Absent: none may be called."""


class EditorModelDeltaType(enum.StrEnum):
    """What a delta holds."""

    TEXT = "text"
    """The next piece of the answer: `text`."""
    TOOL_CALL = "toolCall"
    """A whole call: `name`, `arguments`, and `callId` where the model gave one."""


@attrs.frozen(eq=False, repr=False)
class EditorModelDeltaParams(Wire):
    """A piece of an answer. Pieces count in the order they are sent; those of no call that is under way are dropped."""

    request_id: str
    """The call it belongs to."""
    type: EditorModelDeltaType
    """What it holds."""
    text: str | None = None
    """The piece."""
    call_id: str | None = None
    """The tool call, unique within the answer."""
    name: str | None = None
    """The tool."""
    arguments: dict[str, Any] | None = None
    """The arguments. Absent: none."""


class EditorModelStopReason(enum.StrEnum):
    """Why the model stopped."""

    END = "end"
    """It has said what it had to say."""
    TOOL_CALLS = "toolCalls"
    """It waits for the results of its calls."""
    OUTPUT_LIMIT = "outputLimit"
    """The answer was as long as it may be."""
    FILTERED = "filtered"
    """A content rule ended it."""


@attrs.frozen(eq=False, repr=False)
class EditorModelUsage(Wire):
    """What the call took, as the model's service counted it."""

    input_tokens: int
    """The whole request."""
    output_tokens: int
    """The whole answer."""


@attrs.frozen(eq=False, repr=False)
class AskEditorModelResult(Wire):
    """The answer is whole: all its deltas were sent before this."""

    stop_reason: EditorModelStopReason
    """Why it ended."""
    usage: EditorModelUsage | None = None
    """Absent: nobody said. Then the server goes on estimating."""


class EditorModelErrorKind(enum.StrEnum):
    """Why a call failed."""

    NO_PERMISSION = "noPermission"
    """The user has not allowed it."""
    BLOCKED = "blocked"
    """The editor refuses for now, such as after too many requests."""
    NOT_FOUND = "notFound"
    """The model is not there any more."""
    QUOTA = "quota"
    """What the user's plan includes is used up."""
    TOO_LONG = "tooLong"
    """The request is longer than the model takes. The server sends a shorter one, once."""
    OTHER = "other"
    """Anything else."""


@attrs.frozen(eq=False, repr=False)
class EditorModelErrorData(Wire):
    """The `data` of the error with which an editor answers `editorModel/complete`. Its message is not shown."""

    kind: EditorModelErrorKind
    """Why."""


MESSAGES: tuple[Request | Notification, ...] = (
    Notification(
        "palimpsest/didChangeEditorModels",
        EditorModelsChangedParams,
        "Offer the editor's own models to conversations. None is asked but one that the user chose.",
        Direction.CLIENT_TO_SERVER,
    ),
    Request(
        "palimpsest/editorModel/complete",
        AskEditorModelParams,
        AskEditorModelResult,
        "Ask one of the models that this editor offers. The answer comes in `editorModel/delta`, before the result.",
        Direction.SERVER_TO_CLIENT,
    ),
    Notification(
        "palimpsest/editorModel/delta",
        EditorModelDeltaParams,
        "The next piece of an answer that the server has asked for.",
        Direction.CLIENT_TO_SERVER,
    ),
)
