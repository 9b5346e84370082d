"""How parts look to a model, where the answer is the same for every service."""

from __future__ import annotations

import re
from typing import Any, Final

from palimpsest.domain import foreign_json
from palimpsest.domain.messages import AttachmentPart, Content, OpaquePart, TextPart, ToolCallPart, ToolResultPart
from palimpsest.domain.turns.answers import tool_name

BEGAN_EARLIER: Final = "[The conversation began earlier.]"
"""Said in the user's place where a service wants a user's message first and the request begins with an answer."""


def user_texts(content: Content) -> list[str]:
    """What the user typed and attached, in order, each as one text; none is blank."""
    texts = []
    for part in content.parts:
        match part:
            case TextPart() if part.text.strip():
                texts.append(part.text)
            case AttachmentPart():
                texts.append(attachment_text(part))
            case _:
                pass
    return texts


def attachment_text(part: AttachmentPart) -> str:
    """The attachment as a fenced block labelled with its label. Nothing inside can close the fence."""
    longest = max((len(run) for run in re.findall(r"`+", part.text)), default=0)
    fence = "`" * max(3, longest + 1)
    label = " ".join(part.label.replace("`", "'").split())
    end = "" if part.text.endswith("\n") else "\n"
    return f"{fence}{label}\n{part.text}{end}{fence}"


def call_arguments(part: ToolCallPart) -> dict[str, Any]:
    """The call's arguments as the object every service demands, whatever the model wrote.

    Malformed text is kept as text under one key, so that the model sees what it wrote.
    """
    value = foreign_json.object_in(part.arguments)
    return {"malformed_arguments": part.arguments} if value is None else value


def called(part: ToolCallPart | ToolResultPart) -> str:
    """The name of the part's tool. A name that services refuse, stored by an earlier version, is made one they take."""
    return tool_name(part.name)


def returned(content: Content, provider: str, model: str, **shape: type) -> list[dict[str, Any]]:
    """The opaque parts that go back to `provider`, in order, each as the object it holds.

    `shape` names what the client wrote into them. Parts of another shape are left out: another format under the same
    name wrote them, or a file that was imported did.
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
    """Whether `part` may go back: only to the service and the model family it came from."""
    return part.provider == provider and model_family(part.model) == model_family(model)


def model_family(model: str) -> str:
    """The model without the date of its snapshot: what signatures are good for."""
    return re.sub(r"[-@:](?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$", "", model)
