"""The form in which a model gets parts, where it is the same for every service."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from palimpsest.domain import foreign_json
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    Digest,
    ImagePart,
    OpaquePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from palimpsest.domain.turns.answers import tool_name

BEGAN_EARLIER: Final = "[The conversation began earlier.]"
"""The user's message in front of a request that begins with an answer, where a service wants a user's message first."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as services take it."""

    media_type: str
    data: str
    """Base64."""

    @property
    def url(self) -> str:
        return f"data:{self.media_type};base64,{self.data}"


def said_by_user(content: Content, pictures: Mapping[Digest, str]) -> list[str | Picture]:
    """What the user typed and attached, and the pictures of a tool's result, in order; no text is blank. Each picture
    comes behind the line that names it."""
    said: list[str | Picture] = []
    for part in content.parts:
        match part:
            case TextPart() if part.text.strip():
                said.append(part.text)
            case AttachmentPart():
                said.append(attachment_text(part))
            case ImagePart():
                said += pictured(part, pictures)
            case _:
                pass
    return said


def pictured(part: ImagePart, pictures: Mapping[Digest, str]) -> list[str | Picture]:
    """The line of a picture, and the picture itself where it is sent."""
    data = pictures.get(part.digest)
    return [part.line()] if data is None else [part.line(), Picture(part.media_type, data)]


def joined(said: Iterable[str | Picture]) -> list[str | Picture]:
    """Neighboring texts as one, with an empty line between them."""
    found: list[str | Picture] = []
    for each in said:
        if isinstance(each, str) and found and isinstance(last := found[-1], str):
            found[-1] = f"{last}\n\n{each}"
        else:
            found.append(each)
    return found


def attachment_text(part: AttachmentPart) -> str:
    """The attachment as a fenced block with its label. Nothing inside can close the fence."""
    longest = max((len(run) for run in re.findall(r"`+", part.text)), default=0)
    fence = "`" * max(3, longest + 1)
    label = " ".join(part.label.replace("`", "'").split())
    end = "" if part.text.endswith("\n") else "\n"
    return f"{fence}{label}\n{part.text}{end}{fence}"


_REMEMBERED_CHARS: Final = 4_096
"""Of the arguments of a call: those of longer ones are read anew for every request."""


def call_arguments(part: ToolCallPart) -> dict[str, Any]:
    """The arguments of the call as the object that every service demands, whatever the model wrote.

    Text that is no JSON object stays as text under one key, so that the model sees what it wrote.
    """
    text = part.arguments
    value = _object_in(text) if len(text) <= _REMEMBERED_CHARS else foreign_json.object_in(text)
    return {"malformed_arguments": text} if value is None else dict(value)


@functools.lru_cache(maxsize=2_048)
def _object_in(text: str) -> dict[str, Any] | None:
    """Every request of a conversation holds the calls of the one before. Whoever gets the object changes nothing in
    it."""
    return foreign_json.object_in(text)


def called(part: ToolCallPart | ToolResultPart) -> str:
    """The name of the tool in the part. A name that services refuse, which an earlier version stored, is changed to
    one that they take."""
    return tool_name(part.name)


def returned(content: Content, provider: str, model: str, **shape: type) -> list[dict[str, Any]]:
    """The opaque parts that go back to `provider`, in order, each as the object that it contains.

    `shape` has the type of each field that the client wrote. Parts of another shape are left out: they come from
    another format under the same name, or from an imported file.
    """
    found = []
    for part in content.parts:
        if isinstance(part, OpaquePart) and is_wanted(part, provider, model):
            value = _object(part.data)
            if all(type(value.get(name)) is kind for name, kind in shape.items()):
                found.append(value)
    return found


def _object(text: str) -> dict[str, Any]:
    try:
        value = foreign_json.read(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def is_wanted(part: OpaquePart, provider: str, model: str) -> bool:
    """Whether `part` may go back, which it may only to the service and the model family that it came from."""
    return part.provider == provider and model_family(part.model) == model_family(model)


def model_family(model: str) -> str:
    """The model without the date of its snapshot; signatures are valid within it."""
    return re.sub(r"[-@:](?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$", "", model)
