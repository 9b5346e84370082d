"""What would be taken out of a message before it is shared, by kinds: never the texts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from palimpsest.domain.messages import AttachmentPart, Content, ImagePart, OpaquePart, Part, ToolCallPart
from palimpsest.domain.sharing.cleaning import Cleaner

PATH: Final = "path of this machine"
RESULT: Final = "result of a tool"
OPAQUE: Final = "reasoning of the model"
_PLACEHOLDER: Final = re.compile(r"\[redacted: ([^\]\n]{1,60})\]")


def kinds_taken_out(content: Content, cleaner: Cleaner, *, shares_results: bool) -> frozenset[str]:
    """The kinds, such as `AWS access key`; none when the message is shared as it is."""
    found = set() if shares_results or not content.results else {RESULT}
    cleaned = cleaner.content(content)
    if cleaned is content:
        return frozenset(found)
    if sum(isinstance(part, OpaquePart) for part in content.parts) != sum(
        isinstance(part, OpaquePart) for part in cleaned.parts
    ):
        found.add(OPAQUE)
    for before, after in zip(_texts(content.parts), _texts(cleaned.parts), strict=True):
        if before != after:
            found |= set(Counter(_PLACEHOLDER.findall(after)) - Counter(_PLACEHOLDER.findall(before)))
            if cleaner.holds_place(before):
                found.add(PATH)
    return frozenset(found)


def files_named(contents: Iterable[Content]) -> list[str]:
    """The files whose content tools may have brought into the messages, as the calls name them; sorted."""
    found: set[str] = set()
    for content in contents:
        for call in content.calls:
            try:
                arguments = json.loads(call.arguments)
            except (ValueError, RecursionError):
                continue
            path = arguments.get("path") if isinstance(arguments, dict) else None
            if isinstance(path, str) and path:
                found.add(path)
    return sorted(found)


def _texts(parts: Iterable[Part]) -> Iterator[str]:
    for part in parts:
        match part:
            case ToolCallPart():
                yield part.arguments
            case AttachmentPart():
                yield f"{part.label}\n{part.text}"
            case ImagePart():
                yield part.label
            case OpaquePart():
                continue
            case _:
                yield part.text
