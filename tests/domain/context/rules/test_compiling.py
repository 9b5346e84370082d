"""Patterns that were compiled ahead: no sentence waits for one."""

from __future__ import annotations

import re

import pytest

from palimpsest.domain.context.rules.detection import compile_languages, read_rulings
from palimpsest.domain.messages import user_message


@pytest.mark.parametrize(
    "said",
    [
        "Never put a tab into the fixtures of the parser.",
        "Nimm nie Tabulatoren, und vergiss die Regel mit den vier Leerzeichen.",
        "N'utilise jamais de tabulations; oublie la règle des quatre espaces.",
        "No uses nunca tabuladores y olvida la regla de los cuatro espacios.",
        "Tabs, semicolons, docstrings, lambdas.",
    ],
)
def test_a_sentence_compiles_nothing_once_the_languages_are_compiled(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_languages()

    def compile_late(pattern: str, flags: int = 0) -> None:
        raise AssertionError(f"compiled late: {pattern[:60]}")

    monkeypatch.setattr(re, "compile", compile_late)
    read_rulings(user_message(said))
