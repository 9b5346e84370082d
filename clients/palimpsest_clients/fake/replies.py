"""The answers of a model, before they are put into a service's wire format."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

DEFAULT_TEXT = "Line one\u2028line \u0085 two, é🎉"
"""A text with the characters that naive readers of event streams take for the end of a line."""


@dataclass(frozen=True)
class Call:
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Reply:
    text: str = DEFAULT_TEXT
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    stop: str | None = None
    """The reason, in the service's own words. None: it follows from the rest."""
    n_pieces: int = 3
    """The most deltas that a text comes in."""

    def pieces(self, text: str) -> list[str]:
        step = max(1, -(-len(text) // self.n_pieces))
        return [text[start : start + step] for start in range(0, len(text), step)]


@dataclass(frozen=True)
class Usage:
    """The tokens that an answer reports."""

    n_input: int
    """Tokens that were neither read from the cache nor written to it."""
    n_output: int = 33
    n_cache_read: int = 0
    n_cache_written: int = 0

    @property
    def n_prompt(self) -> int:
        return self.n_input + self.n_cache_read + self.n_cache_written


@dataclass(frozen=True)
class Heard:
    """The end of a request: the subject of the answer."""

    text: str = ""
    """The newest text of the user; empty when there is none."""
    result: str | None = None
    """The last tool result, if no text of the user follows it."""
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The schemas of the arguments, by the name of the tool."""


def sse(data: Any, event: str = "") -> bytes:
    """One event of a stream. The JSON keeps U+2028 and U+0085, as the services do."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def rough_count(value: Any) -> int:
    """A quarter of the characters of the JSON, and the same for every picture."""
    text, n_pictures = _PICTURE.subn("", json.dumps(value, ensure_ascii=False))
    return max(1, len(text) // 4 + n_pictures * PICTURE_TOKENS)


PICTURE_TOKENS: Final = 1_000
_PICTURE: Final = re.compile(r"(?<=[\",])(?:iVBORw0KGgo|/9j/)[A-Za-z0-9+/]+={0,2}")
"""A PNG or JPEG in base64."""
