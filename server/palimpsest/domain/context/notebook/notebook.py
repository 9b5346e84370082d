"""The notebook of one conversation: its entries, and how each name was used.

What a name is worth is how likely it is used again: by what the assistant itself did with it more than by how often a
tool printed it, and by how long ago that was. Measured on recorded sessions; the exponents hardly matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain.context.notebook.entry import Entry, Reader
from palimpsest.domain.context.notebook.names import form_worth
from palimpsest.domain.context.notebook.read_back import read_back
from palimpsest.domain.context.tokens import CountText
from palimpsest.domain.messages import Content, MessageId, Role

_SCALE: Final = 2.0
"""What a name counts beside the weights of fragments."""
_UNUSED, _BY_USER, _BY_TOOL, _MOST_PRINTED = 0.2, 0.3, 0.1, 8
"""Beside 1 for each message of the assistant."""
_FADING: Final = 0.15


@dataclass(slots=True)
class Use:
    """In how many messages a name stood, by their author."""

    shown: str
    """As it was first written."""
    form: float
    """What it is worth by its form."""
    by_assistant: int = 0
    by_user: int = 0
    by_tools: int = 0
    places: list[MessageId] = field(default_factory=list)
    """The messages that name it, ascending."""


@dataclass(slots=True)
class Notebook:
    """Not safe for two threads at once."""

    count: CountText
    n_read: int = 0
    """The messages below this id were read, or are hidden."""
    entries: dict[MessageId, Entry] = field(default_factory=dict)
    """By message, ascending."""
    uses: dict[str, Use] = field(default_factory=dict)
    """By the key of the name."""
    first_of_file: dict[str, MessageId] = field(default_factory=dict)
    """By path, the first message whose call is about it."""
    _reader: Reader = field(init=False)
    _tokens: dict[str, float] = field(default_factory=dict)
    _said_tokens: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._reader = Reader(self.count)

    def read(self, id: MessageId, content: Content) -> None:
        """Takes a message up. Messages come in their order; one that was read already changes nothing."""
        if id < self.n_read:
            return
        self.n_read = id + 1
        self._take(*self._reader.read(id, content))

    def read_back(self, text: str, start: MessageId, end: MessageId) -> None:
        """Puts what a page tells of the messages [start, end) in the place of their entries."""
        for id in self.within(start, end):
            del self.entries[id]
        for entry, names in read_back(text, start, end, self.count):
            if entry.id < self.n_read:  # uses were counted then; a clipped text may end in a name that no message holds
                known = tuple(name for name in entry.names if name in self.uses)
                self.entries[entry.id] = replace(entry, names=known)
            else:
                self._take(entry, names)
        self.entries = dict(sorted(self.entries.items()))
        self.n_read = max(self.n_read, end)

    def _take(self, entry: Entry, names: Mapping[str, str]) -> None:
        id = entry.id
        self.entries[id] = entry
        if entry.path and entry.role is Role.ASSISTANT:
            self.first_of_file.setdefault(entry.path, id)
        for name in entry.names:
            if (use := self.uses.get(name)) is None:
                use = self.uses[name] = Use(names[name], form_worth(name))
            match entry.role:
                case Role.ASSISTANT:
                    use.by_assistant += 1
                case Role.USER:
                    use.by_user += 1
                case Role.TOOL:
                    use.by_tools += 1
            use.places.append(id)

    def worth(self, name: str) -> float:
        """How likely the name of that key is used again, on a scale of weights; 0 for one that no message holds, such
        as what a clipped text ends in."""
        if (use := self.uses.get(name)) is None:
            return 0.0
        often = use.by_assistant + _BY_USER * use.by_user + _BY_TOOL * min(use.by_tools, _MOST_PRINTED)
        age = 1 + self.n_read - use.places[-1]
        return _SCALE * math.sqrt(_UNUSED + often) * math.pow(age, -_FADING) * use.form

    def shown(self, name: str) -> str:
        """The name of that key as it was first written."""
        return self.uses[name].shown

    def name_tokens(self, name: str) -> float:
        """Raw tokens of the name of that key in a list."""
        if (tokens := self._tokens.get(name)) is None:
            tokens = self._tokens[name] = self.count(self.shown(name)) + 1.2
        return tokens

    def said_tokens(self, text: str) -> int:
        """Raw tokens of what the user said, which every page asks for again."""
        if (tokens := self._said_tokens.get(text)) is None:
            tokens = self._said_tokens[text] = self.count(text)
        return tokens

    def within(self, start: int, end: int) -> list[MessageId]:
        """The messages [start, end) that have an entry, ascending."""
        if end - start > len(self.entries):
            return [id for id in self.entries if start <= id < end]
        return [id for each in range(start, end) if (id := MessageId(each)) in self.entries]
