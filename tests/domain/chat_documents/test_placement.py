"""An answer arrives in a document while somebody types, deletes and undoes everywhere in it, in editors that refuse
edits, apply them late, lie about them, or tell changes only as a whole: nothing is lost, doubled or in a wrong place.

The editors here know of each character who wrote it; the code under test sees text only.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import Enum

import pytest

from palimpsest.domain.chat_documents.changes import Change, change_between
from palimpsest.domain.chat_documents.placement import Placement

ROUNDS = 1_000
HEAD, TAIL = "# A chat\n\n## 1\n\n", "\n\n<-- write below -->\n\n"


class Manner(Enum):
    """How an editor deals with edits that are made for another text than it has."""

    STRICT = "refuses them, and tells each change at once"
    LYING = "drops them, says it has applied them, and tells changes a little later"
    LATE = "applies them by line and character to what it has, and tells changes a little later"
    WHOLE = "refuses them, and tells the whole text at once for several changes"


Letter = tuple[str, int | None]
"""A character, and which one of the answer it is; None: the user's."""


@dataclass
class Typist:
    """An editor with somebody in it who types at random."""

    manner: Manner
    alphabet: str
    chance: random.Random
    letters: list[Letter] = field(default_factory=lambda: [(each, None) for each in HEAD + TAIL])
    untold: list[Change] = field(default_factory=list)
    told: str = HEAD + TAIL
    alive: set[int] = field(default_factory=set)
    """The characters of the answer that stand here, as far as the user's own doing goes."""
    users: str = HEAD + TAIL
    """What the document would be without the answer."""
    wanted: set[str] = field(default_factory=set)
    """The characters that came here and were not deleted by the user, where no two are alike."""
    past: list[tuple[int, list[Letter], list[Letter], bool]] = field(default_factory=list)
    """What an undo takes back; the last is whether the user did it."""
    n_typed: int = 0

    @property
    def text(self) -> str:
        return "".join(each for each, _ in self.letters)

    def project(self) -> str:
        return "".join(each for each, number in self.letters if number is None)

    def replace(self, start: int, end: int, letters: list[Letter], *, is_users: bool) -> None:
        self.past.append((start, self.letters[start:end], letters, is_users))
        self._put(start, end, letters)

    def _put(self, start: int, end: int, letters: list[Letter]) -> None:
        self.letters[start:end] = letters
        self.untold.append(Change(start, end, "".join(each for each, _ in letters)))

    def type(self, *, only_adds: bool = False, is_far: bool = False) -> None:
        """Something a user does."""
        deed = 1.0 if only_adds else self.chance.random()
        if deed < 0.2 and self.past and self.manner is not Manner.LATE:
            start, before, after, _ = self.past.pop()
            self._count(before, after)
            self._put(start, start + len(after), before)
        elif deed < 0.45 and self.letters:
            start = self.chance.randrange(len(self.letters))
            end = min(len(self.letters), start + self.chance.choice((1, 1, 2, 3, 8)))
            self._count([], self.letters[start:end])
            self.replace(start, end, [], is_users=True)
        else:
            typed: list[Letter] = [(self._character(), None) for _ in range(self.chance.choice((1, 1, 2, 5)))]
            start = self.chance.randint(0, 1 if is_far else len(self.letters))
            self._count(typed, [])
            self.replace(start, start, typed, is_users=True)
        self.users = self.project()

    def _count(self, comes: list[Letter], goes: list[Letter]) -> None:
        self.alive -= {number for _, number in goes if number is not None}
        self.alive |= {number for _, number in comes if number is not None}
        self.wanted -= {each for each, _ in goes}
        self.wanted |= {each for each, _ in comes}

    def _character(self) -> str:
        self.n_typed += 1
        if self.alphabet:
            return self.chance.choice(self.alphabet)
        return "\n" if self.n_typed % 7 == 0 else chr(0xAC00 + self.n_typed)

    def take(self, edit: Change, first: int | None) -> bool:
        """An edit made for `told`; `first`: which character of the answer it begins with. Whether it says it has been
        applied."""
        if self.untold and self.manner is not Manner.LATE:
            return self.manner is Manner.LYING
        start, end = edit.start, edit.end
        if self.untold:
            start, end = (_elsewhere(self.told, each, self.text) for each in (start, end))
        numbers = [None if first is None else first + at for at in range(len(edit.text))]
        self.replace(start, end, list(zip(edit.text, numbers, strict=True)), is_users=False)
        self.alive |= {number for number in numbers if number is not None}
        self.wanted |= set(edit.text)
        return True

    def tell(self) -> list[Change]:
        """Tells the changes since the last time."""
        untold, self.untold = self.untold, []
        before, self.told = self.told, self.text
        if self.manner is Manner.WHOLE and untold:
            return [Change(0, len(before), self.told)]
        return untold


def _elsewhere(text: str, offset: int, other: str) -> int:
    """The same line and character in another text."""
    line, column = text.count("\n", 0, offset), offset - (text.rfind("\n", 0, offset) + 1)
    lines = other.split("\n")
    if line >= len(lines):
        return len(other)
    return sum(len(each) + 1 for each in lines[:line]) + min(column, len(lines[line]))


def answer_of(n_characters: int, alphabet: str, chance: random.Random) -> str:
    if alphabet:
        return "".join(chance.choice(alphabet) for _ in range(n_characters))
    return "".join("\n" if at % 11 == 10 else chr(0x4E00 + at) for at in range(n_characters))


def stream(typist: Typist, answer: str, chance: random.Random) -> Placement:
    """The answer arrives in pieces while the user types; what is on its way at the end is brought to an end."""
    placement = Placement(typist.text, len(HEAD))
    n_arrived = 0
    while n_arrived < len(answer) or not placement.is_settled:
        if n_arrived < len(answer) and chance.random() < 0.6:
            piece = answer[n_arrived : n_arrived + chance.randint(1, 9)]
            placement.add(piece)
            n_arrived += len(piece)
        if n_arrived < len(answer):
            for _ in range(chance.choice((0, 0, 1, 2))):
                typist.type()
                if typist.manner is Manner.WHOLE:
                    placement.changed(typist.tell())
        if typist.manner is Manner.STRICT or chance.random() < 0.5:
            for change in typist.tell():
                placement.changed([change])
        if (edit := placement.propose()) is not None:
            is_of_answer = (
                edit.start == edit.end == placement.anchor
                and edit.text
                == answer[n_arrived - len(placement.waiting) - len(edit.text) : n_arrived - len(placement.waiting)]
            )
            first = n_arrived - len(placement.waiting) - len(edit.text) if is_of_answer else None
            if n_arrived < len(answer) and chance.random() < 0.3:
                typist.type()
            placement.answered(is_applied=typist.take(edit, first))
            if n_arrived < len(answer) and chance.random() < 0.3:
                typist.type(
                    only_adds=typist.manner in (Manner.WHOLE, Manner.LATE), is_far=typist.manner is Manner.WHOLE
                )
            placement.changed(typist.tell())
            if placement.is_waiting:
                placement.give_up()
    return placement


@pytest.mark.parametrize("manner", [Manner.STRICT, Manner.LYING, Manner.WHOLE, Manner.LATE])
def test_an_answer_arrives_whole_and_in_place_whatever_is_typed_meanwhile(manner: Manner) -> None:
    for seed in range(ROUNDS):
        chance = random.Random(seed)
        typist = Typist(manner, "", chance)
        answer = answer_of(chance.randint(1, 80), "", chance)
        placement = stream(typist, answer, chance)
        where = f"seed {seed}"
        assert placement.text == typist.text, where
        own = set(answer) - {"\n"}
        said = [each for each in typist.text if each in own]
        left = [each for at, each in enumerate(answer) if at in typist.alive and each != "\n"]
        if manner is Manner.LATE:  # what the user deleted before it was in its place may be there again
            assert said == sorted(set(said)), where
            typed = [each for each in typist.text if each >= "\uac00"]
            assert len(typed) == len(set(typed)), where
            assert {each for each in typist.wanted if each >= "\u4e00"} <= set(said + typed), where
        else:
            assert said == left, where
            assert typist.project() == typist.users, where


HEAD_OF_INPUT = "view\n"


def left_of(sent: str, typed: str, change: Change | None = None) -> str:
    """What stands below the view when a message is taken out that became `typed` meanwhile. `change`: how that is told;
    None: as a whole text."""
    before, after = f"{HEAD_OF_INPUT}{sent}", f"{HEAD_OF_INPUT}{typed}"
    placement = Placement(before, len(HEAD_OF_INPUT) - 1)
    placement.remove_typed(len(HEAD_OF_INPUT), len(before))
    placement.changed([Change(0, len(before), after) if change is None else change])
    assert placement.text == after
    while (edit := placement.propose()) is not None:
        placement.answered(is_applied=True)
        placement.changed([edit])
    return placement.text.removeprefix(HEAD_OF_INPUT)


@pytest.mark.parametrize(
    ("sent", "typed"),
    [
        ("What of pump 14?\n", "\nWhat about pumps 23?\nWhy?\n"),  # shares most of its characters
        ("```\nx = 1\n```\nWhy?\n", "```\nx = 2\n```\nWhy?\n"),
        ("What of pump 14?\n", "What?\n"),
        ("What of pump 14?\n", "What of the pump 14?\n"),
    ],
)
def test_what_is_typed_over_a_message_that_is_to_go_stays_whole(sent: str, typed: str) -> None:
    """However it is told: as a whole text, as what was replaced, or without what both begin and end with."""
    start, end = len(HEAD_OF_INPUT), len(HEAD_OF_INPUT) + len(sent)
    assert left_of(sent, typed) == typed
    assert left_of(sent, typed, Change(start, end, typed)) == typed
    least = change_between(sent, typed)
    assert left_of(sent, typed, Change(start + least.start, start + least.end, least.text)) == typed


@pytest.mark.parametrize("sent", ["What of pump 14?\n", "\n```\nx = 1\n```\nWhy?\n", "aa\naa\n", "What of pump 14?"])
@pytest.mark.parametrize("typed", ["Why?\n", "\n```\ny = 2\n```\nWhy?\n", "What of pump 23?\n", "aa\nab\n"])
@pytest.mark.parametrize("is_behind", [False, True])
def test_what_is_typed_beside_a_message_that_is_to_go_stays_alone(sent: str, typed: str, *, is_behind: bool) -> None:
    at = len(HEAD_OF_INPUT) + (len(sent) if is_behind else 0)
    both = f"{sent}{typed}" if is_behind else f"{typed}{sent}"
    assert sorted(left_of(sent, both)) == sorted(typed)
    assert left_of(sent, both, Change(at, at, typed)) == typed


def test_what_is_typed_at_the_end_of_the_last_line_of_a_message_that_is_to_go_stays_alone() -> None:
    sent = "What of pump 14?\n"
    at = len(HEAD_OF_INPUT) + len(sent) - 1
    assert left_of(sent, "What of pump 14? Why?\n", Change(at, at, " Why?")) == " Why?\n"
    assert left_of(sent, "What of pump 14? Why?\n") == " Why?\n"
