"""How parts look to a model, where the answer is the same for every service."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NoReturn

from palimpsest.domain.messages import AttachmentPart, Content, OpaquePart, TextPart, ToolCallPart

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
    if not part.arguments.strip():
        return {}
    try:
        value = json.loads(part.arguments, parse_constant=_refuse)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"malformed_arguments": part.arguments}


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def is_wanted(part: OpaquePart, provider: str, model: str) -> bool:
    """Whether `part` may go back: only to the service and the model family it came from."""
    return part.provider == provider and model_family(part.model) == model_family(model)


def model_family(model: str) -> str:
    """The model without the date of its snapshot: what signatures are good for."""
    return re.sub(r"[-@:](?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$", "", model)
