"""The judgment of trained models: whether a sentence sets a rule, may end some rule, and ends a given rule.

Each language has three linear models. The sum of the weights of the features (`rules.features`, and the marks of
`scoring`) is the logarithm of the odds, which the functions return. `benchmarks/rules/train.py` makes the weights from
the sentences in its folder; they are read when the first sentence of their language is judged.
"""

from __future__ import annotations

import functools
import importlib.resources
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from palimpsest.domain.context.rules import features
from palimpsest.domain.context.rules.forms import Forms
from palimpsest.domain.context.rules.languages import languages_of
from palimpsest.domain.context.rules.weight_table import WeightTable

SCALE: Final = 100
"""Weights are whole hundredths."""
_PAIRS_REMEMBERED: Final = 2_048
_KNOWN_SHARE: Final = 0.34
"""Share of the words of a sentence."""
_FOLDER: Final = importlib.resources.files("palimpsest.domain.context.rules") / "weights"


@dataclass(frozen=True, slots=True)
class Weights:
    """The models of one language."""

    rule: WeightTable
    turn: WeightTable
    end: WeightTable
    features_version: int
    trained_on: str
    """Digest of the sentences."""

    def to_bytes(self) -> bytes:
        """As in the file: a line of JSON that says how long each table is, then the tables."""
        tables = {name: getattr(self, name).to_bytes() for name in _TABLES}
        head = {name: len(table) for name, table in tables.items()}
        told = {"features_version": self.features_version, "trained_on": self.trained_on, **head}
        return json.dumps(told).encode() + b"\n" + b"".join(tables.values())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The inverse of `to_bytes`."""
        head, _, rest = data.partition(b"\n")
        told = json.loads(head)
        ends = list(itertools.accumulate(told[name] for name in _TABLES))
        tables = [rest[start:end] for start, end in itertools.pairwise([0, *ends])]
        rule, turn, end = map(WeightTable.from_bytes, tables)
        return cls(rule, turn, end, told["features_version"], told["trained_on"])


_TABLES: Final = ("rule", "turn", "end")


@functools.cache
def weights_of(forms: Forms) -> Weights:
    """The models of a language."""
    return Weights.from_bytes((_FOLDER / f"{forms.name.lower()}.weights").read_bytes())


@functools.cache
def version() -> str:
    """The version of all models together, which changes with the sentences that any of them is trained on."""
    return (_FOLDER / "version.txt").read_text(encoding="utf-8").strip()


def rule_odds(text: str, marks: Iterable[str], forms: Forms) -> float:
    """Log odds that the sentence sets a rule. `marks`: what its form says (`scoring.marks_of`)."""
    return _odds(weights_of(forms).rule, (*features.of_sentence(text), *marks))


def turn_odds(text: str, marks: Iterable[str], forms: Forms) -> float:
    """Log odds that the sentence, which sets no rule, ends one."""
    return _odds(weights_of(forms).turn, (*features.of_sentence(text), *marks))


def knows(text: str, forms: Forms) -> bool:
    """Whether the model of the language knows enough of the words; if not, the text is likely in another language."""
    return known_share(text, forms) > _KNOWN_SHARE


def known_share(text: str, forms: Forms) -> float:
    """The share of the words that the model of the language knows; 0 where there are no words."""
    weights = weights_of(forms).rule
    words = features.words_of(text)
    return sum(word in weights for word in words) / max(1, len(words))


@functools.lru_cache(maxsize=1_024)
def language_of(text: str) -> Forms:
    """The language whose model knows most words of a text, among those that its small words allow."""
    languages = languages_of(text)
    return languages[0] if len(languages) == 1 else max(languages, key=lambda forms: known_share(text, forms))


@functools.lru_cache(maxsize=_PAIRS_REMEMBERED)
def end_odds(older: str, newer: str, *, near: bool, forbids: bool) -> float:
    """Log odds that a later sentence ends a rule. `near`: only an answer was between; `forbids`: the rule forbids."""
    forms = language_of(newer)
    return _odds(weights_of(forms).end, features.of_pair(older, newer, forms, near=near, forbids=forbids))


def _odds(weights: WeightTable, seen: Iterable[str]) -> float:
    return weights.total(("", *seen)) / SCALE
