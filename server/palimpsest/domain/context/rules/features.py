"""The features that a trained model sees: those of a sentence, and those of a later sentence beside an older rule.

Pure: a text has the same features in training and in use. The features of a sentence are its words and pairs of words,
or its signs where no spaces separate words. In a pair of sentences the words that both share are written as one sign,
so "drop =, unittest is enough" has the same features whatever is dropped.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

from palimpsest.domain.context.rules.forms import Forms
from palimpsest.domain.context.rules.languages import folded, has_han, n_words, plain, stem, stems, without_courtesy

FEATURES_VERSION: Final = 4
"""To be raised when any text gets other features than before; then all models are to be trained again."""
_CODE = re.compile(r"`[^`\n]*`")
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d+|[^\w\s]")
_LATIN_RUN = re.compile(r"[a-z0-9_.-]+")
_SPACE = re.compile(r"\s+")
_FULL_STOPS: Final = ".!?:\u2026\u3002\uff01\uff1f"
_SAME: Final = "="
"""The sign for words that both sentences have."""
_HEAD: Final = 3
"""Tokens at the beginning, which say most about the kind of a sentence."""
_LONG_STEM: Final = 5
"""Letters of a stem that identify its word."""
_QUARTERS: Final = 4
"""Steps in which the models see a share."""


@functools.lru_cache(maxsize=256)
def of_sentence(text: str) -> frozenset[str]:
    """The features of a sentence alone."""
    tokens = _signs(text) if has_han(text) else _tokens(text)
    found = {_length(text), _end(text), *_runs(tokens, 2)}
    if has_han(text):
        found.update(_runs(tokens, 3))
        found.update(f"^{''.join(tokens[:n])}" for n in range(1, _HEAD + 1))
    else:
        found.update(f"^{token}" for token in tokens[:_HEAD])
        words = [token for token in tokens if token[0].isalpha()]
        found.update(f"{at}:{word}" for at, word in enumerate(words[:2]))
        found.update(f"-1:{word}" for word in words[-1:])
    return frozenset(found)


def of_pair(older: str, newer: str, forms: Forms, *, near: bool, forbids: bool) -> frozenset[str]:
    """The features of a sentence in the language of `forms` that was said after a rule.

    `near`: it was said right after the rule. `forbids`: the rule is a prohibition; a permission ends only those.
    """
    tokens, of_newer, of_older = (_shared_signs if has_han(newer) else _shared_words)(older, newer, forms)
    shares = f"{_quarter(of_newer)}{_quarter(of_older)}"
    where = f"{'near' if near else 'far'}{'=' if of_older else '!'}"
    what = "not" if forbids else "do"
    found = {_length(newer), _end(newer), where, what, f"shares {shares}", f"{where} newer {_quarter(of_newer)}"}
    found.add(f"{where} older {_quarter(of_older)}")
    runs = set(_runs(tokens, 2))
    found.update(runs)
    found.update(f"{where} {run}" for run in runs)
    found.update(f"{what} {token}" for token in tokens)
    found.update(f"^{token}" for token in tokens[:_HEAD])
    return frozenset(found)


def words_of(text: str) -> list[str]:
    """The words of a text as the models see them; its signs in Chinese."""
    tokens = _signs(text) if has_han(text) else _tokens(text)
    return [token for token in tokens if token.isalpha()]


def is_alike(stem: str, other: str) -> bool:
    """Whether two stems belong to one word or to compounds and inflections of it."""
    if stem == other:
        return True
    is_long = min(len(stem), len(other)) >= _LONG_STEM
    return is_long and (stem[:_LONG_STEM] == other[:_LONG_STEM] or stem in other or other in stem)


def share_a_word(some: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether a stem of one group is alike a stem of the other."""
    if _pieces(some).isdisjoint(_pieces(others)):
        return False
    return any(is_alike(stem, other) for stem in some for other in others)


@functools.lru_cache(maxsize=1_024)
def _pieces(stems: tuple[str, ...]) -> frozenset[str]:
    """Pieces of stems. Two stems that are alike have one in common; this spares comparing all with all."""
    return frozenset(stem[at : at + _LONG_STEM] for stem in stems for at in range(max(1, len(stem) - _LONG_STEM + 1)))


@functools.lru_cache(maxsize=64)
def _tokens(text: str) -> tuple[str, ...]:
    found = _TOKEN.findall(_CODE.sub(" x ", folded(without_courtesy(plain(text)).lower())))
    return tuple("9" if token.isdigit() else token for token in found)


def _signs(text: str) -> tuple[str, ...]:
    return tuple(_LATIN_RUN.sub("X", _SPACE.sub("", _CODE.sub("X", without_courtesy(text).lower()))))


def _shared_words(older: str, newer: str, forms: Forms) -> tuple[list[str], float, float]:
    """The tokens of the newer sentence with shared words as one sign, and the share of shared words among those of the
    newer and of the older sentence."""
    known = stems(plain(older), forms)
    tokens: list[str] = []
    n_content, n_hit, hit = 0, 0, set[str]()
    for token in _tokens(newer):
        if token.isalnum() and token not in forms.stop:
            n_content += 1
            found = stem(token, forms)
            if (twin := next((word for word in known if is_alike(found, word)), None)) is not None:
                n_hit += 1
                hit.add(twin)
                if tokens[-1:] != [_SAME]:
                    tokens.append(_SAME)
                continue
        tokens.append(token)
    return tokens, n_hit / max(1, n_content), len(hit) / max(1, len(known))


def _shared_signs(older: str, newer: str, forms: Forms) -> tuple[list[str], float, float]:
    """The same where no spaces separate words: two signs in a row count as a word."""
    older, newer = older.lower(), newer.lower()
    pairs = {older[at : at + 2] for at in range(len(older) - 1) if older[at : at + 2].isalnum()}
    shared = [False] * len(newer)
    hit = set[str]()
    for at in range(len(newer) - 1):
        if (pair := newer[at : at + 2]) in pairs:
            shared[at] = shared[at + 1] = True
            hit.add(pair)
    text = "".join("\n" if is_shared else sign for sign, is_shared in zip(newer, shared, strict=True))
    tokens = list(_LATIN_RUN.sub("X", re.sub(r"\n+", _SAME, text.replace(" ", ""))))
    return tokens, sum(shared) / max(1, len(newer)), len(hit) / max(1, len(pairs))


def _runs(tokens: Sequence[str], longest: int) -> Iterator[str]:
    framed = ["^", *tokens, "$"]
    for n in range(1, longest + 1):
        for at in range(len(framed) - n + 1):
            yield " ".join(framed[at : at + n])


def _length(text: str) -> str:
    return f"length {min(6, int(math.log2(n_words(text) + 1) * 1.5))}"


def _end(text: str) -> str:
    last = text.rstrip()[-1:]
    return f"end {last if last in _FULL_STOPS else ''}"


def _quarter(share: float) -> int:
    return math.ceil(share * _QUARTERS)
