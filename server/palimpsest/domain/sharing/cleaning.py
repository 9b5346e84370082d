"""What is taken out of a conversation before it leaves this machine: secrets of known forms, and where things lie here.

A cleaned message has another digest. So nothing is cleaned on the way out: a conversation with something to take out is
shared as a copy, and the messages of a shared one are cleaned when they are stored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from palimpsest.domain.messages import Content, MessageStatus, OpaquePart, map_texts
from palimpsest.domain.models.redaction import redact, redact_broken_off


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Cleans what is shared from one folder."""

    root: str = ""
    """The folder's absolute path; empty: paths stay."""
    home: str = ""
    """The home directory."""
    is_idle: bool = False
    """Whether nothing is taken out: for what is not shared."""
    _places: tuple[tuple[re.Pattern[str], str], ...] = field(init=False, compare=False, default=())

    def __post_init__(self) -> None:
        places = tuple(
            (re.compile(rf"(?:{'|'.join(map(re.escape, _spellings(place)))})(?![\w-])"), name)
            for place, name in ((self.root, "."), (self.home, "~"))
            if len(place) > 1
        )
        object.__setattr__(self, "_places", places)

    @classmethod
    def idle(cls) -> Cleaner:
        return cls(is_idle=True)

    def text(self, text: str) -> str:
        """The text without secrets and without the places of this machine; the same text when there are none."""
        return text if self.is_idle else redact(self._without_places(text))

    def _broken_off(self, text: str) -> str:
        return redact_broken_off(self._without_places(text))

    def _without_places(self, text: str) -> str:
        for place, name in self._places:
            text = place.sub(name, text)
        return text

    def holds_place(self, text: str) -> bool:
        """Whether the text names a place of this machine."""
        return any(place.search(text) is not None for place, _ in self._places)

    def content(self, content: Content) -> Content:
        """The message without them; the same object when there is nothing to take out. What a service keeps beside its
        answer and accepts only unchanged goes as a whole, when it holds some."""
        if self.is_idle:
            return content
        kept = tuple(
            part for part in content.parts if not isinstance(part, OpaquePart) or self.text(part.data) == part.data
        )
        clean = self.text if content.status is MessageStatus.COMPLETE else self._broken_off
        return map_texts(content if len(kept) == len(content.parts) else replace(content, parts=kept), clean)


def _spellings(place: str) -> list[str]:
    """The path as it is written with slashes, also as JSON may escape them, and on Windows with backslashes, and with
    those in JSON."""
    windows = place.replace("/", "\\")
    found = [place, place.replace("/", "\\/")]
    return list(dict.fromkeys([*found, windows, windows.replace("\\", "\\\\")])) if ":" in place else found
