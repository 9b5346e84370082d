"""Messages and their parts, the form from which storage, digests, requests and exports derive.

A message is text or data that a model received or produced. Its content never changes once stored, so it is a value,
and its canonical JSON is defined here only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Literal, NewType, assert_never

MessageId = NewType("MessageId", int)
"""0, 1, 2, … within a conversation, without gaps, never reused."""
ConversationId = NewType("ConversationId", str)
TurnId = NewType("TurnId", str)
StepId = NewType("StepId", int)
SummaryId = NewType("SummaryId", int)
Digest = NewType("Digest", str)
"""64 lower-case hex digits of SHA-256."""

_LONE: Final = re.compile("[\ud800-\udfff]")
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z")


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class MessageStatus(StrEnum):
    """Whether and how a message is incomplete."""

    COMPLETE = "complete"
    CANCELLED = "cancelled"
    ERRORED = "errored"
    INTERRUPTED = "interrupted"
    """The server died while the message was being written; the part that had been shown is kept."""


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """Thinking that a model showed. It is rendered only for models of the same family."""

    text: str
    type: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    call_id: str
    name: str
    arguments: str
    """The JSON text as the model wrote it; it may be malformed."""
    type: Literal["tool_call"] = "tool_call"


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    call_id: str
    name: str
    text: str
    is_error: bool = False
    type: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True, slots=True)
class AttachmentPart:
    """A snapshot of an attachment, which never changes after the message was sent."""

    label: str
    """The attachment's name for people, such as `src/a.py:10-20`."""
    text: str
    type: Literal["attachment"] = "attachment"


PICTURE_TYPES: Final = frozenset(("image/png", "image/jpeg"))
"""The formats in which pictures are kept."""


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A picture. Its bytes are a content of the store, under the digest; the digest of the message covers them by it.

    In the message of a tool's result it belongs to the result before it.
    """

    label: str
    """The picture's name for people, such as `docs/login.png`."""
    digest: Digest
    media_type: str
    """Of `PICTURE_TYPES`; a row that somebody else wrote may say anything, and is shown to no model."""
    width: int
    """Pixels, like `height`."""
    height: int
    size_bytes: int
    type: Literal["image"] = "image"

    def line(self, handle: str = "") -> str:
        """What stands for the picture in a text. `handle`: how the picture itself is found, such as `12:1`."""
        name = " ".join(self.label.replace('"', "'").split())
        return f'[image {handle}{" " * bool(handle)}"{name}", {self.width}x{self.height}]'


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """Data that a provider wants back verbatim, such as a signature. It is never counted as text and never shown."""

    provider: str
    model: str
    data: str
    """JSON text, exactly as it came."""
    type: Literal["opaque"] = "opaque"


Part = TextPart | ReasoningPart | ToolCallPart | ToolResultPart | AttachmentPart | ImagePart | OpaquePart

_PART_TYPES: Final[Mapping[str, type[Part]]] = {
    "text": TextPart,
    "reasoning": ReasoningPart,
    "tool_call": ToolCallPart,
    "tool_result": ToolResultPart,
    "attachment": AttachmentPart,
    "image": ImagePart,
    "opaque": OpaquePart,
}


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a message: a role, parts in order, and how it ended. The content digest covers it."""

    role: Role
    parts: tuple[Part, ...]
    status: MessageStatus = MessageStatus.COMPLETE
    notes: tuple[str, ...] = field(default=())
    """The changes that were made on entry, such as `removed 1 NUL character`."""

    @property
    def text(self) -> str:
        """The text parts, joined: the message as a person reads it."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def calls(self) -> tuple[ToolCallPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolCallPart))

    @property
    def results(self) -> tuple[ToolResultPart, ...]:
        return tuple(part for part in self.parts if isinstance(part, ToolResultPart))

    @property
    def images(self) -> tuple[ImagePart, ...]:
        return tuple(part for part in self.parts if isinstance(part, ImagePart))

    def to_json(self) -> dict[str, Any]:
        """The content as a JSON object; `from_json` is the inverse."""
        value: dict[str, Any] = {
            "role": self.role.value,
            "parts": [{name: getattr(part, name) for name in part.__slots__} for part in self.parts],
            "status": self.status.value,
        }
        if self.notes:
            value["notes"] = list(self.notes)
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Content:
        """The inverse of `to_json`. Raises ValueError (KeyError, TypeError) for any other value."""
        parts = tuple(_PART_TYPES[part["type"]](**part) for part in value["parts"])
        status = MessageStatus(value["status"])
        return cls(Role(value["role"]), parts, status, tuple(value.get("notes", ())))


def map_texts(content: Content, change: Callable[[str], str]) -> Content:
    """The message with `change` made to each of its texts; the same object when nothing changed. Opaque parts stay as
    they are: a service accepts them unchanged, or not at all."""
    parts = tuple(_map_part(part, change) for part in content.parts)
    return content if parts == content.parts else replace(content, parts=parts)


def _map_part(part: Part, change: Callable[[str], str]) -> Part:
    match part:
        case TextPart() | ReasoningPart() | ToolResultPart():
            return replace(part, text=change(part.text))
        case ToolCallPart():
            return replace(part, arguments=change(part.arguments))
        case AttachmentPart():
            return replace(part, label=change(part.label), text=change(part.text))
        case ImagePart():
            return replace(part, label=change(part.label))
        case OpaquePart():
            return part
        case _:
            assert_never(part)


def canonical_json(value: Any) -> str:
    """The canonical JSON text of a value: sorted keys, no spaces, UTF-8 characters unescaped, no NaN."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def is_clean(text: str) -> bool:
    """Whether `clean_text` would leave the text unchanged."""
    if "\0" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_time(value: object) -> bool:
    """Whether it is a time as it is stored: UTC, ISO 8601."""
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def read_content(value: Any) -> Content:
    """The content, if `value` is exactly what `Content.to_json` writes, of texts that can be stored. Raises
    ValueError."""
    try:
        content = Content.from_json(value)
        items = [(name, item) for part in value["parts"] for name, item in part.items()]
        texts = [item for name, item in items if name not in _NO_TEXTS] + list(content.notes)
        is_typed = all(type(text) is str and is_clean(text) for text in texts)
        is_typed = is_typed and all(type(item) is _NO_TEXTS.get(name, str) for name, item in items)
        if is_typed and all(map(_is_image, content.images)) and content.to_json() == value:
            return content
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise ValueError("no message")


_NO_TEXTS: Final[Mapping[str, type]] = {"is_error": bool, "width": int, "height": int, "size_bytes": int}
"""The fields of parts that are no texts."""
_MAX_EDGE: Final = 1 << 16
_MAX_BYTES: Final = 1 << 30


def _is_image(part: ImagePart) -> bool:
    """Whether the part can be that of a picture that we keep."""
    is_sized = 0 < part.width <= _MAX_EDGE and 0 < part.height <= _MAX_EDGE and 0 < part.size_bytes <= _MAX_BYTES
    return is_sized and part.media_type in PICTURE_TYPES and _DIGEST.fullmatch(part.digest) is not None


def clean_text(text: str) -> tuple[str, tuple[str, ...]]:
    """The text in a form that every part of the system can store and send, and notes about the changes.

    NUL characters are removed; lone surrogates, which no UTF-8 file or request can hold, become U+FFFD.
    """
    if is_clean(text):
        return text, ()
    notes: list[str] = []
    n_nul = text.count("\0")
    if n_nul:
        text = text.replace("\0", "")
        notes.append(f"removed {n_nul} NUL character{'s' if n_nul > 1 else ''}")
    text, n_lone = _LONE.subn("\ufffd", text)
    if n_lone:
        notes.append(f"replaced {n_lone} lone surrogate{'s' if n_lone > 1 else ''} by U+FFFD")
    return text, tuple(notes)


def user_message(text: str) -> Content:
    """A user's message with this text."""
    cleaned, notes = clean_text(text)
    return Content(Role.USER, (TextPart(cleaned),), notes=notes)


def tool_result(call: ToolCallPart, text: str, *, is_error: bool = False, images: Sequence[ImagePart] = ()) -> Content:
    """The message with the result of `call`."""
    cleaned, notes = clean_text(text)
    return Content(Role.TOOL, (ToolResultPart(call.call_id, call.name, cleaned, is_error), *images), notes=notes)
