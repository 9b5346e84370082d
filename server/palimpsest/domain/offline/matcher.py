"""Finding a question's terms in texts, fast enough for a whole folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Final

from palimpsest.domain.language.lexicon import IRREGULAR, PATTERNS, PHRASES, STOP
from palimpsest.domain.language.words import Stemmer, base, fold, kinds, phrase, pieces, runs, stand_ins

STAND_IN: Final = 0.7
"""How far a term counts when only a word that may stand for it is there."""
OF_KIND: Final = 0.95
"""How far *database* counts where *PostgreSQL* is."""
_PREFIXES: Final = ("un", "in", "non", "dis")
_FAMILY_LETTERS: Final = 5
_FAMILY_ENDING: Final = 3
_HEAD: Final = 3

_NOTHING: Final[Mapping[int, float]] = {}


class Matcher:
    """Tells which of a question's terms a text holds. Terms go by their number in the question.

    Keeps what it learned about words, and a stemmer: not to be shared between threads.
    """

    def __init__(self, stems: Sequence[str], pairs: Sequence[tuple[int, int]], stemmer: Stemmer) -> None:
        self._stemmer = stemmer
        self._stems = stems
        self._wanted: dict[str, dict[int, float]] = {}
        for i, stem in enumerate(stems):
            self._wanted.setdefault(stem, {})[i] = 1.0
            for other in stand_ins().get(stem, frozenset()) - set(stems):
                self._wanted.setdefault(other, {})[i] = STAND_IN
            for thing in kinds().get(stem, frozenset()) - set(stems):
                self._wanted.setdefault(thing, {})[i] = OF_KIND
        for left, right in pairs:
            joined = stemmer.stemWord(stems[left] + stems[right])
            self._wanted.setdefault(joined, {}).update({left: 1.0, right: 1.0})
        self._phrases = {
            whole: word for whole, word in PHRASES.items() if self._wanted.get(stemmer.stemWord(word)) is not None
        }
        self._irregular = {
            form: word for form, word in IRREGULAR.items() if self._wanted.get(stemmer.stemWord(word)) is not None
        }
        self._seconds = {whole.split()[1] for whole in self._phrases}
        self._heads = {head[:_HEAD] for word in (*self._wanted, *self._irregular) for head in _heads(word)}
        self._heads.update((prefix + stem)[:_HEAD] for stem in stems for prefix in _PREFIXES)
        self._heads.update(stem.removeprefix(prefix)[:_HEAD] for stem in stems for prefix in _PREFIXES)
        self._found: dict[str, Mapping[int, float]] = {}
        """Folded word to terms, for the words met so far."""
        self._pieces: dict[str, tuple[str, ...]] = {}
        patterns = {stemmer.stemWord(word): re.compile(pattern) for word, pattern in PATTERNS.items()}
        self._patterns = [(i, patterns[stem]) for i, stem in enumerate(stems) if stem in patterns]

    def needles(self, terms: Set[int], *, with_stand_ins: bool) -> frozenset[str]:
        """Folded strings: a folded line with one of the terms holds at least one of them, with rare exceptions."""
        stems = {
            stem
            for stem, meant in self._wanted.items()
            if any(i in terms and (with_stand_ins or weight == 1.0) for i, weight in meant.items())
        }
        found = {head for stem in stems for head in _heads(stem)}
        found.update(form for form, word in self._irregular.items() if self._stemmer.stemWord(word) in stems)
        for whole, word in self._phrases.items():
            if self._stemmer.stemWord(word) in stems:
                first, second = whole.split()
                forms = [first, f"{first}s", f"{first}ed", f"{first}d", f"{first}ing", f"{first.rstrip('e')}ing"]
                forms += [form for form, normal in IRREGULAR.items() if normal == first]
                found.update(f"{form}{gap}{second}" for form in forms for gap in (" ", "-"))
        longer = [self._stems[i] for i in terms if len(self._stems[i]) > _FAMILY_LETTERS]
        found.update(stem.removeprefix(prefix) for stem in longer for prefix in _PREFIXES)
        return frozenset(needle for needle in found if len(needle) > 1)

    def matches(self, text: str) -> dict[int, float]:
        """The terms whose words occur in a text: 1, or STAND_IN or OF_KIND where another word stands for the term's."""
        result: dict[int, float] = {}
        heads, seconds = self._heads, self._seconds
        previous = ""
        for piece in self._pieces_of(text):
            if piece[:_HEAD] in heads or len(piece) <= _HEAD:
                self._take(result, piece)
            if previous and (len(previous) < _HEAD or previous[:_HEAD] in heads):
                self._take(result, previous + piece)
            if piece in seconds:
                whole = phrase(previous, piece, self._stemmer)
                if whole:
                    self._take(result, whole)
            previous = piece
        return result

    def likenesses(self, text: str) -> dict[int, float]:
        """The terms that ask for a kind of thing of which a text has one, told by how such things are written."""
        if not self._patterns:
            return {}
        folded = fold(text)
        return {i: STAND_IN for i, pattern in self._patterns if pattern.search(folded)}

    def sequence(self, text: str) -> list[Mapping[int, float]]:
        """For each content word of a text, in order, the terms it stands for."""
        return [self._lookup(piece) for piece in self._pieces_of(text) if piece not in STOP]

    def _take(self, result: dict[int, float], word: str) -> None:
        for i, weight in self._lookup(word).items():
            if result.get(i, 0.0) < weight:
                result[i] = weight

    def _lookup(self, word: str) -> Mapping[int, float]:
        terms = self._found.get(word)
        if terms is None:
            if word[:_HEAD] in self._heads or len(word) <= _HEAD:
                stem = self._stemmer.stemWord(base(word))
                terms = self._wanted.get(stem) or self._akin(stem)
            else:
                terms = _NOTHING
            self._found[word] = terms
        return terms

    def _akin(self, stem: str) -> Mapping[int, float]:
        """The term of the family of a stem that is none itself: *predict* for *predictor*, *valid* for *invalid*."""
        for i, own in enumerate(self._stems):
            shorter, longer = sorted((own, stem), key=len)
            if len(shorter) >= _FAMILY_LETTERS and longer.startswith(shorter):
                if len(longer) - len(shorter) <= _FAMILY_ENDING:
                    return {i: STAND_IN}
            elif len(shorter) >= _FAMILY_LETTERS - 1 and longer in {prefix + shorter for prefix in _PREFIXES}:
                return {i: STAND_IN}
        return _NOTHING

    def _pieces_of(self, text: str) -> Iterator[str]:
        known = self._pieces
        for run in runs(text):
            parts = known.get(run)
            if parts is None:
                parts = known[run] = pieces(run)
            yield from parts


def _heads(stem: str) -> tuple[str, ...]:
    """What the forms of a word begin with. A stem differs from its words in the last letter at most: *use*, *using*."""
    if len(stem) > _FAMILY_LETTERS + 1:
        return (stem[: max(_FAMILY_LETTERS, len(stem) - _FAMILY_ENDING)],)
    if stem[-1] not in "eiy":
        return (stem,)
    return (stem[:-1],) if len(stem) > 3 else (stem, stem[:-1] + "y", stem[:-1] + "i")
