"""What trained models say of a sentence: whether it sets a rule, whether it may end one, and which.

A linear model a language: the sum of the weights of what is seen (`rules.features`, and the marks the forms leave) is
the logarithm of the odds, which is what the functions return. `benchmarks/rules/train.py` makes the weights, of the
sentences in its folder; they are read once, when the first sentence of their language is judged.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.rules import features
from palimpsest.domain.context.rules.forms import Forms
from palimpsest.domain.context.rules.languages import languages_of

SCALE: Final = 100
"""Weights are whole hundredths."""
_PAIRS_REMEMBERED: Final = 16_384
_KNOWN_SHARE: Final = 0.34
"""Of the words of a sentence."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Of one language: by feature, in hundredths."""

    rule: Mapping[str, int]
    turn: Mapping[str, int]
    end: Mapping[str, int]
    features_version: int
    trained_on: str
    """The digest of the sentences."""


@functools.cache
def weights_of(forms: Forms) -> Weights:
    """The model of a language."""
    return Weights(**json.loads(_read(f"{forms.name.lower()}.json")))


@functools.cache
def version() -> str:
    """Of all models together: another one whenever any of them was trained on something else."""
    return _read("version.txt").strip()


def _read(name: str) -> str:
    return (importlib.resources.files("palimpsest.domain.context.rules") / "weights" / name).read_text(encoding="utf-8")


def rule_odds(text: str, marks: Iterable[str], forms: Forms) -> float:
    """That the sentence sets a standing rule. `marks`: what the forms say of it."""
    return _odds(weights_of(forms).rule, (*features.of_sentence(text), *marks))


def turn_odds(text: str, marks: Iterable[str], forms: Forms) -> float:
    """That the sentence, which is no rule, ends one."""
    return _odds(weights_of(forms).turn, (*features.of_sentence(text), *marks))


def knows(text: str, forms: Forms) -> bool:
    """Whether the model of the language has seen enough of the words: else they are likelier of another language."""
    return known_share(text, forms) > _KNOWN_SHARE


def known_share(text: str, forms: Forms) -> float:
    """Of the words, those that the model of the language has seen; 0 where there are none."""
    weights = weights_of(forms).rule
    words = features.words_of(text)
    return sum(word in weights for word in words) / max(1, len(words))


@functools.lru_cache(maxsize=4_096)
def language_of(text: str) -> Forms:
    """Of the languages that a sentence may be in by its small words, the one whose model has seen the most of it."""
    languages = languages_of(text)
    return languages[0] if len(languages) == 1 else max(languages, key=lambda forms: known_share(text, forms))


@functools.lru_cache(maxsize=_PAIRS_REMEMBERED)
def end_odds(older: str, newer: str, *, near: bool, forbids: bool) -> float:
    """That a later sentence ends a rule. `near`: nothing but an answer was said between; `forbids`: it is a ban."""
    forms = language_of(newer)
    return _odds(weights_of(forms).end, features.of_pair(older, newer, forms, near=near, forbids=forbids))


def _odds(weights: Mapping[str, int], seen: Iterable[str]) -> float:
    return (weights.get("", 0) + sum(weights.get(each, 0) for each in seen)) / SCALE
