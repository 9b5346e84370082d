"""Exact quotes that answer a question, or none: how the server answers when no model is configured.

A candidate is a line, or a sentence of a long or wrapped line. It scores by how much of the question its own words and
its surroundings cover, each word weighted by how rare it is in everything that was searched. Below a threshold nothing
is quoted: saying that nothing was found is better than a line that shares words by chance. A quote is cut out of its
source by offsets, so it is exact by construction. The same input gives the same output.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import pairwise
from typing import Final

from palimpsest.domain.language.words import fold, new_stemmer, words
from palimpsest.domain.messages import Role
from palimpsest.domain.offline.files import named_files
from palimpsest.domain.offline.layout import Layout, Span
from palimpsest.domain.offline.matcher import Matcher
from palimpsest.domain.offline.passages import FileSource, MessageSource, Passage, Source, SourceText
from palimpsest.domain.offline.question import WEAK_FACTOR, Question, analyse, is_request
from palimpsest.domain.offline.search import Search, Searched

MAX_QUOTES: Final = 5
THRESHOLD: Final = 0.55
"""What a candidate must score: about the share of the question, by weight, that it and its surroundings cover."""
OWN_THRESHOLD: Final = 0.30
"""The share that its own words must cover."""
_OWN_OF_SETTING: Final = 0.20
_OWN_OF_REFERENCE: Final = 0.08
_NEAR_BEST: Final = 0.8
"""Candidates below this share of the best score are left out."""
_ABSENT: Final = 0.8
"""Weight of a word that occurs nowhere, against that of a word that occurs once."""
_SAME_FILE: Final = 0.12
_PATH: Final = 0.5
_LED_TO: Final = 0.97
_MAX_SCORED_LINES: Final = 400

# What speaks for or against a candidate beside its words, in units of the score.
_PAIRS: Final = 0.08
_LIMIT_WORD: Final = 0.08
_IDENTIFIER: Final = 0.10
_DEFINITION: Final = 0.10
_DOCUMENT: Final = 0.03
_TEST: Final = 0.05
_SPEAKER: Final = 0.08
_WRONG_FORM: Final = 0.20
_KEY_MISSING: Final = 0.15
_SURE_KEY_MISSING: Final = 0.25
_TITLE: Final = 0.12
_PER_DOUBLING: Final = 0.02
_LENGTH: Final = 120
_NAME_MISSING: Final = 0.6
"""Factor, not summand: a line about another person, place or number answers another question."""

_TEST_PATH = re.compile(r"(?:^|/)(?:tests?|specs?|__tests__|fixtures?|testdata)/|(?:^|/)test_|[._]test\.|[._]spec\.")
_DEFINES: Final = "def|class|fn|func|function|struct|enum|trait|interface|type|module|macro|const|let|var"
_SUFFIX = re.compile(r"\.\w+$")
_IMPORT = re.compile(r"(?:from\s+\S+\s+)?import\b|#\s*include\b|use\s+[\w:]+;|require\b|using\s+[\w.]+;")
_LIMIT = re.compile(
    r"(?:\b|_)(?:max|maximum|maximal|limit|limited|at most|up to|(?:no|not \w+) (?:more|longer|larger|higher) than|"
    r"capped|cap|never)(?:\b|_)"
)


def rank(question: str, texts: Sequence[SourceText], n_best: int = MAX_QUOTES) -> tuple[Passage, ...]:
    """The passages that answer a question, best first; empty when nothing does.

    A question that names a file is first taken to be about what stands in it, then about the file.
    """
    named = named_files(question, texts)
    paths = {path for meant in named.values() for path in meant}
    inside = [text for text in texts if isinstance(text.source, FileSource) and text.source.path in paths]
    found = _rank(question, inside, named.keys()) or _rank(question, texts, frozenset())
    return found[:n_best]


def _rank(question: str, texts: Sequence[SourceText], names: Set[str]) -> tuple[Passage, ...]:
    """All that are nearly as good as the best; `names` in the question are no words to look for."""
    stemmer = new_stemmer()
    asked = _without_project_name(analyse(question, stemmer, names), texts)
    if not asked.terms or not texts:
        return ()
    matcher = Matcher(asked.stems, asked.pairs, stemmer)
    searched = Search(asked, matcher).texts(texts)
    ranking = _Ranking(asked, matcher, _weights(asked, searched))
    found = sorted(ranking.passages(searched), key=lambda one: (-one.score, len(one.place), one.place, one.line))
    near = [passage for passage in found if passage.score >= _NEAR_BEST * found[0].score]
    return tuple(_without_repeats(near))


def _without_project_name(question: Question, texts: Sequence[SourceText]) -> Question:
    """Takes the weight from the folder's own name, which most lines about it do not repeat."""
    title: set[str] = set()
    for text in texts:
        if isinstance(text.source, FileSource) and text.source.path.lower().startswith("readme"):
            title.update(words(text.text.lstrip().partition("\n")[0]))
    terms = tuple(
        replace(term, factor=WEAK_FACTOR, is_name=False) if term.is_name and term.stem in title else term
        for term in question.terms
    )
    return replace(question, terms=terms)


def _weights(question: Question, searched: Sequence[Searched]) -> list[float]:
    """How much each term matters: rare words most; words that occur nowhere almost as much as the rarest.

    Weak words are counted only where strong ones are, so theirs is a part of what strong ones weigh on average.
    """
    n_lines = max(1, sum(found.n_lines for found in searched))
    exact = [0] * len(question.terms)
    near = [0] * len(question.terms)
    for found in searched:
        for matched in found.hits.values():
            for i, weight in matched.items():
                near[i] += 1
                exact[i] += weight == 1.0
    counts = [one or other for one, other in zip(exact, near, strict=True)]
    rarities = [math.log(1 + n_lines / max(1, count)) * (1.0 if count else _ABSENT) for count in counts]
    strong = question.strong
    typical = sum(rarities[i] for i in strong) / len(strong)
    return [rarity if i in strong else WEAK_FACTOR * typical for i, rarity in enumerate(rarities)]


class _Ranking:
    """Scores candidates for one question."""

    def __init__(self, question: Question, matcher: Matcher, weights: Sequence[float]) -> None:
        self._question = question
        self._matcher = matcher
        self._weights = weights
        self._total = sum(weights)
        names = "|".join(map(re.escape, question.identifiers))
        self._definition = re.compile(rf"(?:{_DEFINES})\s+(?:{names})\b") if names else None

    def passages(self, searched: Sequence[Searched]) -> list[Passage]:
        """What reaches the threshold, in no order that matters."""
        lines = sorted(
            (-self._cover(matched), text_idx, line)
            for text_idx, found in enumerate(searched)
            for line, matched in found.hits.items()
        )
        layouts: dict[int, Layout] = {}
        seen: set[tuple[int, int]] = set()
        result: list[Passage] = []
        for _, text_idx, line in lines[:_MAX_SCORED_LINES]:
            found = searched[text_idx]
            source, text = found.text.source, found.text.text
            if text_idx not in layouts:
                layouts[text_idx] = Layout(source.path if isinstance(source, FileSource) else None, text)
            layout = layouts[text_idx]
            for span in layout.spans(line):
                if (text_idx, span.start) in seen:
                    continue
                seen.add((text_idx, span.start))
                result.extend(self._passages_at(found, layout, span))
        return result

    def _passages_at(self, found: Searched, layout: Layout, span: Span) -> Iterator[Passage]:
        score = self._score(found, layout, span)
        if score < THRESHOLD:
            return
        score += _preference(found.text.source)
        below = layout.below(span)
        if below is None or not layout.is_title(span.first):
            yield _passage(found.text, span, score)
        for led in (below, layout.comment_above(span)):
            if led is not None:
                yield _passage(found.text, led, _LED_TO * score)

    def _cover(self, matched: Mapping[int, float]) -> float:
        """The share of the question, by weight, that the terms make up."""
        return sum(self._weights[i] * weight for i, weight in matched.items()) / self._total

    def _score(self, found: Searched, layout: Layout, span: Span) -> float:
        """0 when the span cannot be an answer."""
        text = layout.text[span.start : span.end]
        source = found.text.source
        if isinstance(source, MessageSource) and source.role is Role.USER and is_request(text):
            return 0.0
        own = {**self._matcher.likenesses(text), **self._matcher.matches(text)}
        about = self._matcher.matches(_SUFFIX.sub("", source.path)) if isinstance(source, FileSource) else {}
        own_cover = self._cover(own) + _PATH * self._cover({i: about[i] for i in about.keys() - own.keys()})
        if own_cover < self._own_threshold(layout, span):
            return 0.0
        covered = dict(own)
        _raise(covered, about, _PATH)
        _raise(covered, found.terms(), _SAME_FILE)
        for around in layout.around(span):
            _raise(covered, self._matcher.matches(layout.lines[around.line]), around.weight)
        below = layout.below(span)
        is_fit = self._question.is_fit(layout.text[span.start : below.end] if below else text)
        if self._question.expects.is_strict and not is_fit:
            return 0.0
        score = self._cover(covered) + self._bonus(text, is_fit, source, layout, span)
        key = self._question.key.terms
        if sum(covered.get(i, 0.0) for i in key) < 0.35 * len(key):
            score -= _SURE_KEY_MISSING if self._question.key.is_sure else _KEY_MISSING
        if any(term.is_name and i not in covered for i, term in enumerate(self._question.terms)):
            score *= _NAME_MISSING
        return score

    def _own_threshold(self, layout: Layout, span: Span) -> float:
        """A setting has few words of its own, and *they are kept for a week* none about its subject."""
        if layout.refers_back(span):
            return _OWN_OF_REFERENCE
        return _OWN_OF_SETTING if layout.is_configuration else OWN_THRESHOLD

    def _bonus(self, text: str, is_fit: bool, source: Source, layout: Layout, span: Span) -> float:
        question, folded = self._question, fold(text)
        bonus = _PAIRS * self._share_of_pairs(text)
        bonus -= _WRONG_FORM * (not is_fit)
        bonus -= _PER_DOUBLING * math.log2(max(1.0, len(text) / _LENGTH))
        bonus += _LIMIT_WORD * (question.asks_limit and _LIMIT.search(folded) is not None)
        bonus += _IDENTIFIER * any(name in folded for name in question.identifiers)
        bonus += _DEFINITION * (self._definition is not None and self._definition.search(folded) is not None)
        if isinstance(source, FileSource):
            bonus -= _TITLE * (layout.is_title(span.first) or _IMPORT.match(text) is not None)
        else:
            asked = {Role.USER: question.asks_user, Role.ASSISTANT: question.asks_assistant}
            bonus += _SPEAKER * asked.get(source.role, False)
        return bonus

    def _share_of_pairs(self, text: str) -> float:
        """The share of words that stand side by side in the question and in the text too."""
        if not self._question.pairs:
            return 0.0
        sequence = self._matcher.sequence(text)
        neighbours = list(pairwise(sequence))
        n_found = sum(any(a in left and b in right for left, right in neighbours) for a, b in self._question.pairs)
        return n_found / len(self._question.pairs)


def _preference(source: Source) -> float:
    """Which of several answers comes first, whatever the question."""
    if isinstance(source, MessageSource):
        return 0.0
    return _DOCUMENT * source.is_prose - _TEST * (_TEST_PATH.search(source.path) is not None)


def _raise(covered: dict[int, float], terms: Mapping[int, float], factor: float) -> None:
    """Lets terms found elsewhere count by `factor` where they are not covered better already."""
    for i, weight in terms.items():
        covered[i] = max(covered.get(i, 0.0), weight * factor)


def _passage(text: SourceText, span: Span, score: float) -> Passage:
    return Passage(text.source, span.first + 1, text.text[span.start : span.end], round(score, 6))


def _without_repeats(passages: Iterable[Passage]) -> Iterator[Passage]:
    """Drops a passage whose words were quoted already, from the same place or another."""
    seen: set[str] = set()
    for passage in passages:
        key = " ".join(passage.text.split())
        if key not in seen:
            seen.add(key)
            yield passage
