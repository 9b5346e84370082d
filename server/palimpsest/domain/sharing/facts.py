"""A fact of a repository as a hub has it: what it says, and the places it rests on, from the repository's top.

A member may push anything, so `read` takes only what `written` would write. The statement is one line of plain text,
because people and models read it beside text that they trust.
"""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from palimpsest import values
from palimpsest.domain.deny_list import is_denied
from palimpsest.domain.facts.fact import LONGEST_ENTITY, LONGEST_FACT, MOST_ENTITIES, Fact, FactType, Span
from palimpsest.domain.facts.staleness.anchor import LONGEST_HEAD, LONGEST_SAMPLE, Anchor
from palimpsest.domain.messages import canonical_json, clean_text
from palimpsest.domain.sharing.log import key_of

FACTS_ARE_OFF: Final = "First set `hub.facts = true` in your own `config.toml`, and open the folder again."
"""The sentence for who wants to share facts while the setting is off."""
MOST_BODY_BYTES: Final = 1 << 17
"""The most bytes of a fact in the hub. Most of them are hashes of lines."""
MOST_PLACES: Final = 50
LONGEST_PATH: Final = 1_000
LONGEST_AUTHOR: Final = 60
_MOST_LINES: Final = 10_000_000
_MOST_HEADS: Final = 3
_JOINERS: Final = "\u200c\u200d"
"""Invisible characters that words of some scripts, and emoji, need."""
_UNSEEN: Final = frozenset(("Cc", "Cf", "Cs", "Co"))
"""Categories of characters that nobody sees, or that change how others look: controls, bidirectional marks, tags."""
_HEX: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """A place that a shared fact rests on, in the version of the file that its author had."""

    path: str
    """From the repository's top, with `/`."""
    sha256: str
    """The hash of the file's bytes, in hexadecimal."""
    lines: str
    """The hashes of its lines, as `FileLines` writes them, in base64."""
    symbol: str = ""
    start: int = 0
    """The first line, counted from 1; 0 for the whole file."""
    end: int = 0
    anchor: Anchor | None = None
    """None for a file of which only the bytes count."""

    @property
    def span(self) -> Span | None:
        return Span(self.start, self.end) if self.start else None

    @property
    def line_hashes(self) -> bytes:
        return base64.b64decode(self.lines)

    def under(self, path: str) -> SharedPlace:
        """The same place in a file of another name."""
        return replace(self, path=path, anchor=None if self.anchor is None else replace(self.anchor, path=path))


@dataclass(frozen=True, slots=True)
class SharedFact:
    """The shared part of a fact. Each checkout finds out whether the fact holds there."""

    type: FactType
    content: str
    entities: tuple[str, ...] = ()
    places: tuple[SharedPlace, ...] = ()

    @property
    def fact(self) -> Fact:
        return Fact(self.type, self.content, self.entities)

    @property
    def key(self) -> str:
        """The same statement of two people has one key; capitals and spaces do not count."""
        return key_of("fact", self.type.value, " ".join(self.content.casefold().split()))


def plain(text: str) -> str:
    """The text on one line, without characters that nobody sees."""
    text = clean_text(text)[0]
    if not text.isprintable():
        spaced = " ".join(text.split())
        text = "".join(c for c in spaced if c in _JOINERS or unicodedata.category(c) not in _UNSEEN)
    return " ".join(text.split())


def author_name(name: str) -> str:
    """The name of a member, as people and models read it beside a fact."""
    shown = plain(name)
    return (shown if len(shown) <= LONGEST_AUTHOR else f"{shown[: LONGEST_AUTHOR - 1]}…") or "a colleague"


def written(shared: SharedFact) -> str | None:
    """The fact as the hub has it; None for one that `read` would not take."""
    places = [
        asdict(place) | {"anchor": place.anchor.to_json()} if place.anchor is not None else _without_anchor(place)
        for place in shared.places
    ]
    value = {"type": shared.type.value, "content": shared.content, "entities": shared.entities, "places": places}
    text = canonical_json(value)
    return text if read(shared.key, text) is not None else None


def _without_anchor(place: SharedPlace) -> dict[str, Any]:
    return {name: value for name, value in asdict(place).items() if name != "anchor"}


def read(key: str, text: str) -> SharedFact | None:
    """The fact that a member pushed under that key; None for what is no fact."""
    if len(text) > MOST_BODY_BYTES or len(text.encode("utf-8", "surrogatepass")) > MOST_BODY_BYTES:
        return None
    try:
        shared: SharedFact = _READER.read(json.loads(text))
    except (ValueError, RecursionError):
        return None
    is_sound = (
        shared.key == key
        and shared.type is not FactType.PINNED
        and len(shared.entities) <= MOST_ENTITIES
        and len(shared.places) <= MOST_PLACES
        and all(map(_is_sound, shared.places))
    )
    return shared if is_sound else None


def is_path(path: str) -> bool:
    """Whether a path names a file below the repository's top that may be read: no absolute path, no way out of it, no
    stream of Windows, nothing that holds secrets."""
    return (
        0 < len(path) <= LONGEST_PATH
        and path.isprintable()
        and not any(character in path for character in "\\:")
        and all(part.strip() not in ("", ".", "..") for part in path.split("/"))
        and not is_denied(path)
    )


def _is_sound(place: SharedPlace) -> bool:
    anchor = place.anchor
    return is_path(place.path) and 0 <= place.start <= place.end and (anchor is None or _is_sound_anchor(anchor))


def _is_sound_anchor(anchor: Anchor) -> bool:
    return (
        0 <= anchor.start <= anchor.end
        and anchor.n_tokens >= 0
        and len(anchor.head) <= LONGEST_HEAD
        and len(anchor.sample) <= LONGEST_SAMPLE
        and len(anchor.within) <= _MOST_HEADS
        and all(len(each) <= 64 for each in (anchor.exact, anchor.tokens, anchor.comments))
    )


def _is_lines(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) % 4 == 0
    except ValueError:
        return False


def _fields(readers: values.Types, kind: type) -> list[values.Field]:
    found = values.fields_of(readers, kind)
    own = _OWN_READERS.get(kind, {})
    return [field._replace(reader=own.get(field.name, field.reader)) for field in found]


def _line(longest: int, *, may_be_empty: bool = False) -> values.Reader:
    return values.checked(
        values.STRING, lambda text: len(text) <= longest and text == plain(text) and (text or may_be_empty), "a line"
    )


_NUMBER: Final = values.checked(values.INTEGER, lambda number: abs(number) <= _MOST_LINES, "a number of lines")
_OWN_READERS: Final[dict[type, dict[str, values.Reader]]] = {
    SharedFact: {
        "content": _line(LONGEST_FACT),
        "entities": values.sequence(_line(LONGEST_ENTITY), tuple),
    },
    SharedPlace: {
        "sha256": values.checked(values.STRING, _HEX.fullmatch, "a digest"),
        "lines": values.checked(values.STRING, _is_lines, "hashes of lines"),
        "symbol": _line(LONGEST_ENTITY, may_be_empty=True),
        "start": _NUMBER,
        "end": _NUMBER,
    },
    Anchor: {
        "start": _NUMBER,
        "end": _NUMBER,
        "n_tokens": _NUMBER,
        "name": _line(LONGEST_HEAD, may_be_empty=True),
        "symbol": _line(LONGEST_HEAD, may_be_empty=True),
    },
}
_TEXT: Final = values.checked(values.STRING, lambda text: clean_text(text)[0] == text, "a text that can be stored")
_READER: Final = values.Types({str: _TEXT, int: values.INTEGER, bool: values.BOOLEAN}, _fields, is_open=True).of(
    SharedFact
)
