"""Models that an editor offers, such as those of VS Code's own chat. The server asks the editor, and the editor asks
the model."""

from __future__ import annotations

import enum
from typing import Any

import attrs

from palimpsest.wire.areas.conversations import MessageRole
from palimpsest.wire.declare import Direction, Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class EditorModelInfo(Wire):
    """A model that this editor can ask. Its name in `model/list` is `editor/ID`."""

    id: str
    """The editor's id for it: 1 to 200 printable characters that do not change from one start to the next."""
    name: str
    """Its name for people."""
    max_input_tokens: int
    """The largest request in tokens. A model with less than 2,048 is left out."""
    family: str | None = None
    """The public model that it is, such as `gpt-4o`. Its tokens are counted like those of that model."""
    max_output_tokens: int | None = None
    """The longest answer in tokens."""
    supports_tools: bool | None = None
    """Whether it can call tools. Absent: it can."""
    supports_images: bool | None = None
    """Whether it sees pictures, and this editor can hand them over. Absent: no."""


@attrs.frozen(eq=False, repr=False)
class EditorModelsChangedParams(Wire):
    """All models that this editor offers from now on. They are removed when the editor disconnects."""

    models: list[EditorModelInfo]
    """The models; may be empty. When two have the same id, the first counts."""


class EditorModelPartType(enum.StrEnum):
    """The kind of a part of a message."""

    TEXT = "text"
    """A text: `text`."""
    TOOL_CALL = "toolCall"
    """A tool call of the model: `callId`, `name`, `arguments`."""
    TOOL_RESULT = "toolResult"
    """The result of a tool call: `callId`, `name`, `text`, `isError`."""
    IMAGE = "image"
    """A picture: `mediaType`, `data`. Only for models with `supportsImages`."""


@attrs.frozen(eq=False, repr=False)
class EditorModelPart(Wire):
    """A part of a message. Which fields are present depends on `type`."""

    type: EditorModelPartType
    """The kind of the part."""
    text: str | None = None
    """The text, or the result."""
    call_id: str | None = None
    """The id of the call."""
    name: str | None = None
    """The name of the tool."""
    arguments: dict[str, Any] | None = None
    """The arguments of the call."""
    is_error: bool | None = None
    """Whether the result is a failure."""
    media_type: str | None = None
    """The format of the picture: `image/png` or `image/jpeg`."""
    data: str | None = None
    """The bytes of the picture, in base64."""


@attrs.frozen(eq=False, repr=False)
class EditorModelMessage(Wire):
    """A message of a request."""

    role: MessageRole
    """Who wrote it. Two messages in a row may have the same role."""
    parts: list[EditorModelPart]
    """The parts in their order, at least one."""


@attrs.frozen(eq=False, repr=False)
class EditorModelTool(Wire):
    """A tool that the model may call. The server runs it."""

    name: str
    """The name by which the model calls it."""
    description: str
    """What the tool does and when to use it, for the model."""
    parameters: dict[str, Any]
    """JSON Schema of the arguments object."""


@attrs.frozen(eq=False, repr=False)
class AskEditorModelParams(Wire):
    """One model call. The server cancels it when the turn is cancelled."""

    request_id: str
    """The id of the call, for `editorModel/delta`."""
    model: str
    """The editor's id of the model."""
    system: str
    """The system prompt. May be empty."""
    messages: list[EditorModelMessage]
    """Oldest first."""
    max_output_tokens: int
    """The tokens that are left for the answer."""
    tools: list[EditorModelTool] | None = None
    """The tools that the model may call. Absent: none."""


class EditorModelDeltaType(enum.StrEnum):
    """The kind of a delta."""

    TEXT = "text"
    """The next piece of the answer: `text`."""
    TOOL_CALL = "toolCall"
    """A whole tool call: `name`, `arguments`, and `callId` when the model gave one."""


@attrs.frozen(eq=False, repr=False)
class EditorModelDeltaParams(Wire):
    """A piece of an answer. The order of sending counts. A piece for a call that is not running is ignored."""

    request_id: str
    """The id of the call."""
    type: EditorModelDeltaType
    """The kind of the delta."""
    text: str | None = None
    """The piece of text."""
    call_id: str | None = None
    """The id of the tool call, unique within the answer."""
    name: str | None = None
    """The name of the tool."""
    arguments: dict[str, Any] | None = None
    """The arguments of the call. Absent: none."""


class EditorModelStopReason(enum.StrEnum):
    """Why the model stopped."""

    END = "end"
    """The answer is finished."""
    TOOL_CALLS = "toolCalls"
    """The model waits for the results of its tool calls."""
    OUTPUT_LIMIT = "outputLimit"
    """The answer reached its longest length."""
    FILTERED = "filtered"
    """A content rule ended it."""


@attrs.frozen(eq=False, repr=False)
class EditorModelUsage(Wire):
    """The tokens of the call, as the model's service counted them."""

    input_tokens: int
    """Tokens of the whole request."""
    output_tokens: int
    """Tokens of the whole answer."""


@attrs.frozen(eq=False, repr=False)
class AskEditorModelResult(Wire):
    """The end of an answer. The editor has sent all of its deltas before."""

    stop_reason: EditorModelStopReason
    """Why the model stopped."""
    usage: EditorModelUsage | None = None
    """The tokens of the call. Absent: unknown, and the server keeps its estimate."""


class EditorModelErrorKind(enum.StrEnum):
    """Why a call failed."""

    NO_PERMISSION = "noPermission"
    """The user has not allowed the call."""
    BLOCKED = "blocked"
    """The editor refuses for now, for example after too many requests."""
    NOT_FOUND = "notFound"
    """The model no longer exists."""
    QUOTA = "quota"
    """The user's plan is used up."""
    TOO_LONG = "tooLong"
    """The request is too long for the model. The server sends a shorter one, once."""
    OTHER = "other"
    """Any other reason."""


@attrs.frozen(eq=False, repr=False)
class EditorModelErrorData(Wire):
    """The `data` of an error that answers `editorModel/complete`. The message of the error is not shown."""

    kind: EditorModelErrorKind
    """Why the call failed."""


MESSAGES: tuple[Request | Notification, ...] = (
    Notification(
        "palimpsest/didChangeEditorModels",
        EditorModelsChangedParams,
        "Offer the editor's own models to conversations. The server asks a model only if the user chose it.",
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
        "The next piece of an answer that the server asked for.",
        Direction.CLIENT_TO_SERVER,
    ),
)
