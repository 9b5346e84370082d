"""What is taken out of a conversation before it leaves this machine: secrets of known forms, and where things lie here.

A cleaned message has another digest. So nothing is cleaned on the way out: a conversation with something to take out is
shared as a copy, and the messages of a shared one are cleaned when they are stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    OpaquePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from palimpsest.domain.models.redaction import redact

_WITHHELD = "[This result is not shared.]"


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Cleans what is shared from one folder."""

    root: str = ""
    """The folder's absolute path; empty: paths stay."""
    home: str = ""
    """The home directory."""
    shares_results: bool = True
    """Whether results of tools are shared."""

    is_idle: bool = False
    """Whether nothing is taken out: for what is not shared."""

    @classmethod
    def idle(cls) -> Cleaner:
        return cls(is_idle=True)

    def text(self, text: str) -> str:
        """The text without secrets and without the places of this machine; the same text when there are none."""
        if self.is_idle:
            return text
        for place, name in ((self.root, "."), (self.home, "~")):
            if len(place) > 1:
                text = text.replace(place, name)
        return redact(text)

    def content(self, content: Content) -> Content:
        """The message without them; the same object when there is nothing to take out."""
        if self.is_idle:
            return content
        parts = tuple(_cleaned(part, self.text, shares_results=self.shares_results) for part in content.parts)
        return content if parts == content.parts else replace(content, parts=parts)


def _cleaned(part: Part, clean: Callable[[str], str], *, shares_results: bool) -> Part:
    match part:
        case ToolResultPart():
            return replace(part, text=clean(part.text) if shares_results else _WITHHELD)
        case TextPart() | ReasoningPart():
            return replace(part, text=clean(part.text))
        case ToolCallPart():
            return replace(part, arguments=clean(part.arguments))
        case AttachmentPart():
            return replace(part, label=clean(part.label), text=clean(part.text))
        case OpaquePart():
            return part  # a service accepts it unchanged, or not at all
        case _:
            assert_never(part)
