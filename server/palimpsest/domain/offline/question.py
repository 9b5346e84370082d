"""What a question asks for: its terms, how much each matters, and what form an answer has to have."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from palimpsest.domain.language.lexicon import IRREGULAR, STOP, WEAK
from palimpsest.domain.language.words import Stemmer, all_pieces, base, fold, phrase, pieces, runs
from palimpsest.domain.offline.forms import HOW, Expects, expected

WEAK_FACTOR: Final = 0.35
"""What a word that tells little weighs against one that tells something."""
MAX_QUESTIONS: Final = 3
MAX_QUESTION_CHARS: Final = 2000
_MAX_TERMS: Final = 40

_PATH = re.compile(
    r"[\w.~/\\-]{0,200}[\w-]\.[A-Za-z]\w{0,9}\b"  # src/a.py, a.tar.gz
    r"|(?:[\w.~-]{1,60}[/\\]){1,12}[\w.-]{0,60}\w"  # src/bin
    r"|\.[a-z]\w{2,}\b"  # .gitignore
)
_QUOTED = re.compile(r"`([^`\n]{2,80})`|\"([^\"\n]{2,80})\"")
_IDENTIFIER = re.compile(r"\b(?:\w+_\w+|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Za-z]+\d\w*)\b")
_SENTENCE = re.compile(
    "(?<=[.!?\uff1f\u3002])(?<!\\bDr\\.)(?<!\\bMr\\.)(?<!\\bMs\\.)(?<!\\bMrs\\.)(?<!\\bSt\\.)(?<!\\bvs\\.)(?<!\\be\\.g\\.)"
    "(?<!\\bi\\.e\\.)\\s+|\n+"
)
_ASKING: Final = ("?", "\uff1f")
_ASKS_LIMIT = re.compile(
    r"\bhow \w+\b.*\b(?:can|could|may|allowed|possible|permitted)\b"
    r"|\b(?:max|maximum|longest|largest|biggest|highest|limit)\b"
)
_ASKS_USER = re.compile(r"\b(?:did|have|had) i\b|\bi (?:said|told|asked|mentioned|wanted|wrote|decided|chose)\b")
_ASKS_ASSISTANT = re.compile(r"\b(?:did|have|had) you\b|\byou (?:said|told|suggested|recommended|proposed|wrote)\b")
_AUXILIARY_WORDS: Final = "is are was were do does did has have had can could should would will may must might"
_REQUEST = re.compile(
    rf"(?:what|which|how|who|whom|whose|why|when|where)(?:'s)?\b.{{0,60}}?\b(?:{_AUXILIARY_WORDS.replace(' ', '|')})\b"
    rf"|(?:{_AUXILIARY_WORDS.replace(' ', '|')})\s+(?:i|we|you|they|it|he|she|the|this|that|there|my|our|your|any)\b"
    r"|(?:please\s+|can you\s+)?(?:tell me|show|explain|describe|summari[sz]e|list|give me|find|search for|quote)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Term:
    """One content word of the question."""

    stem: str
    factor: float
    """1, or WEAK_FACTOR."""
    is_name: bool
    """A proper name or a number: what does not concern it answers another question."""


@dataclass(frozen=True, slots=True)
class Key:
    """What about the subject is asked: its verb, or the noun after *what is*."""

    terms: tuple[int, ...] = ()
    """Numbers of terms; empty where the question does not tell."""
    is_sure: bool = False
    """Whether the form of the question leaves little doubt that these are the words."""


@dataclass(frozen=True, slots=True)
class Question:
    terms: tuple[Term, ...]
    """In order, each stem once; may be empty."""
    key: Key
    pairs: tuple[tuple[int, int], ...]
    """Terms that stand side by side."""
    identifiers: tuple[str, ...]
    """Folded, as written: an answer most likely has them letter by letter."""
    expects: Expects
    asks_limit: bool
    """How much or many there may be."""
    asks_user: bool
    """About what the user said."""
    asks_assistant: bool
    """About what the assistant said."""

    @property
    def stems(self) -> tuple[str, ...]:
        return tuple(term.stem for term in self.terms)

    @property
    def strong(self) -> frozenset[int]:
        """The terms that an answer is found by: all but the weak ones, or all where there are only weak ones."""
        strong = frozenset(i for i, term in enumerate(self.terms) if term.factor == 1.0)
        return strong or frozenset(range(len(self.terms)))

    def is_fit(self, text: str) -> bool:
        """Whether a text has the form of an answer. The question's own numbers are none that it asks for."""
        for term in self.terms:
            if term.stem.isdigit():
                text = re.sub(rf"\b{term.stem}\b", " ", text)
        return self.expects.fits(text)


def is_request(sentence: str) -> bool:
    """Whether a sentence asks for something. A user's request is no answer to a later one."""
    text = sentence.strip()
    return text.endswith(_ASKING) or _REQUEST.match(text) is not None


def questions_of(message: str) -> tuple[str, ...]:
    """The last sentences of a message that ask, at most MAX_QUESTIONS; all of it when none ends in a question mark."""
    sentences = [part.strip() for part in _SENTENCE.split(message) if part.strip()]
    asking = [part for part in sentences if part.endswith(_ASKING) and _has_content(part)]
    return tuple(asking[-MAX_QUESTIONS:]) or (message[:MAX_QUESTION_CHARS],)


def paths_in(text: str) -> tuple[str, ...]:
    """What looks like a file or folder name in the first MAX_QUESTION_CHARS, in order, with `/` between folders."""
    text = text[:MAX_QUESTION_CHARS]
    return tuple(dict.fromkeys(match.group().replace("\\", "/").removeprefix("./") for match in _PATH.finditer(text)))


def analyse(text: str, stemmer: Stemmer, known_paths: Set[str]) -> Question:
    """Takes a question apart. `known_paths` as they stand in it name files and are no terms."""
    text = text[:MAX_QUESTION_CHARS]
    for path in sorted(known_paths, key=len, reverse=True):
        text = text.replace("\\", "/").replace(path, " ")
    folded = fold(text)
    skipped = frozenset(match[1] for match in HOW.finditer(folded))
    terms, pairs = _terms(text, skipped, stemmer)
    identifiers = [fold(match[1] or match[2]) for match in _QUOTED.finditer(text)]
    identifiers += [fold(match.group()) for match in _IDENTIFIER.finditer(text)]
    return Question(
        terms=terms,
        key=_KeyFinder(text, terms, skipped, stemmer).key(),
        pairs=pairs,
        identifiers=tuple(dict.fromkeys(identifiers)),
        expects=expected(folded),
        asks_limit=_ASKS_LIMIT.search(folded) is not None,
        asks_user=_ASKS_USER.search(folded) is not None,
        asks_assistant=_ASKS_ASSISTANT.search(folded) is not None,
    )


def _has_content(text: str) -> bool:
    return any(piece not in STOP for piece in all_pieces(text))


def _terms(text: str, skipped: Set[str], stemmer: Stemmer) -> tuple[tuple[Term, ...], tuple[tuple[int, int], ...]]:
    """The terms, and the pairs of terms that stand side by side."""
    found: dict[str, Term] = {}
    order: list[str] = []
    is_shouted = text.upper() == text
    previous = ""
    for position, run in enumerate(runs(text)):
        is_capital = run[0].isupper() and position > 0 and not is_shouted
        for piece in pieces(run):
            whole = phrase(previous, piece, stemmer)
            if whole and order and order[-1] == stemmer.stemWord(base(previous)):
                gone = order.pop()
                if gone not in order:
                    del found[gone]
            previous = piece
            word = whole or piece
            is_letter = len(word) == 1 and word.isascii() and not word.isdigit()
            if is_letter or (not whole and (word in STOP or word in skipped)):
                continue
            stem = stemmer.stemWord(base(word))
            is_weak = word in WEAK and not is_capital
            if stem not in found and len(found) < _MAX_TERMS:
                is_name = (is_capital or word.isdigit()) and not is_weak
                found[stem] = Term(stem, WEAK_FACTOR if is_weak else 1.0, is_name)
            order.append(stem)
    index = {stem: i for i, stem in enumerate(found)}
    pairs = {(index[a], index[b]) for a, b in pairwise(order) if a != b and {a, b} <= index.keys()}
    return tuple(found.values()), tuple(sorted(pairs))


_BE: Final = frozenset(("is", "are", "was", "were"))
_AUXILIARY: Final = frozenset(_AUXILIARY_WORDS.split())
_SUBJECTS: Final = frozenset(("i", "we", "you", "they", "it", "he", "she", "one", "someone", "somebody"))
_PREPOSITIONS: Final = frozenset(
    """after at before between by during for from if in of on over than that to under when which while who with
    without""".split()
)
_OPENERS: Final = _PREPOSITIONS | {"a", "an", "her", "his", "its", "my", "our", "that", "the", "their", "this", "your"}
_LIGHT: Final = frozenset(
    """call called come declared defined do get go have implemented make mean need run runs set support
    supported take use used uses want work works""".split()
)
"""Verbs that an answer seldom repeats."""

_LAST_VERBS: Final = frozenset("arrive begin close cost end expire last leave open start weigh".split())
"""Verbs without an object: at the end of a question they are what is asked."""


class _KeyFinder:
    """Finds the words of a question that say what about the subject is asked."""

    def __init__(self, text: str, terms: tuple[Term, ...], skipped: Set[str], stemmer: Stemmer) -> None:
        self._index = {term.stem: i for i, term in enumerate(terms)}
        self._skipped = skipped
        self._stemmer = stemmer
        self._stream = all_pieces(text)
        for i in range(len(self._stream) - 1):
            whole = phrase(self._stream[i], self._stream[i + 1], stemmer)
            if whole:
                self._stream[i : i + 2] = [whole, ""]

    def key(self) -> Key:
        stream = self._stream
        asking = next((i for i, word in enumerate(stream) if word in ("what", "which", "who", "whats")), None)
        auxiliary = next((i for i, word in enumerate(stream) if word in _AUXILIARY), None)
        if auxiliary is None:
            if asking is not None and stream[asking] == "who":  # who repairs the scanner
                return self._key(self._content(stream[asking + 1 :])[:1], is_sure=True)
            content = self._content(stream) if self._skipped else []  # how many herbs grow here
            return self._key(content[1:2]) if self._key(content[1:2]).terms else self._key(content[:1])
        rest = stream[auxiliary + 1 :]
        is_being = stream[auxiliary] in _BE
        if is_being and asking is not None and asking < auxiliary:
            if auxiliary == asking + 1:  # what is the price of a seat
                return self._key(self._content(self._until(rest, _PREPOSITIONS))[-2:], is_sure=True)
            if rest[:1] and rest[0] in _OPENERS and not any(map(_is_participle, self._content(rest)[-1:])):
                # which piano is in the hall
                return self._key(self._content(stream[asking + 1 : auxiliary]), is_sure=True)
        subject = next((i for i, word in enumerate(rest) if word in _SUBJECTS), None)
        if subject is not None:  # where do we store the keys
            return self._key(self._content(rest[subject + 1 :])[:1])
        content = self._content(rest)
        if content and content[-1] in _LAST_VERBS:  # what did the trip to Rome cost
            return self._key(content[-1:], is_sure=True)
        verb = self._content(self._until(rest, _PREPOSITIONS - {"of"}))[-1:]  # how is the log rotated
        return self._key(verb, is_sure=is_being and any(map(_is_participle, verb)))

    def _until(self, words: list[str], ends: Set[str]) -> list[str]:
        """The words before the first of `ends` that has content before it."""
        end = next((i for i, word in enumerate(words) if word in ends and self._content(words[:i])), len(words))
        return words[:end]

    def _content(self, words: list[str]) -> list[str]:
        return [word for word in words if word and word not in self._skipped and self._stem(word) in self._index]

    def _key(self, words: list[str], is_sure: bool = False) -> Key:
        return Key(tuple(self._index[self._stem(word)] for word in words if word not in _LIGHT), is_sure)

    def _stem(self, word: str) -> str:
        return self._stemmer.stemWord(base(word))


def _is_participle(word: str) -> bool:
    return word.endswith(("ed", "ing")) or word in IRREGULAR
