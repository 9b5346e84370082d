"""What is taken out of a conversation before it leaves this machine: secrets of known forms, and where things lie here.

A cleaned message has another digest. So nothing is cleaned on the way out: a conversation with something to take out is
shared as a copy, and the messages of a shared one are cleaned when they are stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain.messages import Content, MessageStatus, OpaquePart, map_texts
from palimpsest.domain.models.escapes import replaced
from palimpsest.domain.models.redaction import redact, redact_broken_off

_SLASH: Final = r"\\{0,8}/"
_SLASHES: Final = r"[\\/]{1,16}(?:\.[\\/]{1,16}){0,4}"


def _spelled(place: str) -> str:
    """The pattern for the path as it is written: with slashes or backslashes, one or more, as in JSON, and on Windows
    also below the place where other shells have the drive."""
    first, *names = re.split(r"[\\/]", place)
    drive = first.removesuffix(":")
    head = "" if not first else rf"(?:{re.escape(first)}|/(?:mnt/|cygdrive/)?{re.escape(drive)}(?=[\\/]))"
    told = [re.escape(name) for name in names if name]
    return head + (_SLASHES if first else _SLASH) + _SLASHES.join(told)


class _Place:
    """A path of this machine, and what stands for it in what is shared."""

    def __init__(self, path: str, name: str) -> None:
        self._name = name
        self._word = max(re.split(r"[\\/]", path), key=len).lower()
        self._pattern = re.compile(rf"{_spelled(path)}(?![\w-])", re.IGNORECASE)

    def taken_out(self, text: str) -> str:
        text = replaced(text, self._found)
        return self._pattern.sub(self._name, text) if self._word in text.lower() else text

    def _found(self, text: str) -> Iterator[tuple[int, int, str]]:
        if self._word in text.lower():
            for match in self._pattern.finditer(text):
                yield match.start(), match.end(), self._name


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Cleans what is shared from one folder."""

    root: str = ""
    """The folder's absolute path; empty: paths stay."""
    home: str = ""
    """The home directory."""
    is_idle: bool = False
    """Whether nothing is taken out: for what is not shared."""
    _places: tuple[_Place, ...] = field(init=False, compare=False, default=())

    def __post_init__(self) -> None:
        places = tuple(_Place(each, name) for each, name in ((self.root, "."), (self.home, "~")) if len(each) > 1)
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
        for place in self._places:
            text = place.taken_out(text)
        return text

    def holds_place(self, text: str) -> bool:
        """Whether the text names a place of this machine."""
        return self._without_places(text) != text

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
