"""What is packed is chosen best first, and nobody cuts excerpts that cannot fit any more."""

from __future__ import annotations

from collections.abc import Iterator

from palimpsest.domain.facts.retrieval.packing import Excerpt, pack
from palimpsest.domain.facts.retrieval.scoring import Parts, Ranked, Turn
from palimpsest.domain.messages import MessageId, Role


def excerpt(number: int, n_words: int) -> Excerpt:
    turn = Turn(MessageId(number), Role.USER, "", n_words, False, "sitting", None, 0)
    text = f"user: {number} " + "word " * n_words + "\n"
    return Excerpt(Ranked(turn, -number, Parts()), "sitting", "[no date]", text, None, (1, number))


def count(text: str) -> int:
    return len(text.split())


def test_a_short_one_behind_long_ones_is_packed_but_they_are_not_read_for_ever() -> None:
    read: list[int] = []

    def found(n_long: int) -> Iterator[Excerpt]:
        for number, n_words in enumerate((40, *(200,) * n_long, 10)):
            read.append(number)
            yield excerpt(number, n_words)

    packed = pack(found(10), 100, count)
    assert [each.position[1] for each, _ in packed.excerpts] == [0, 11]
    read.clear()
    packed = pack(found(150), 100, count)
    assert [each.position[1] for each, _ in packed.excerpts] == [0]
    assert len(read) < 40
