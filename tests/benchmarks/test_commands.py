"""Benchmarks are started by people: their arguments, and what of the environment they pass on."""

from __future__ import annotations

import sys

import pytest
from benchmarks.__main__ import main
from benchmarks.editor import environment
from benchmarks.figures import numbers


def test_arguments_that_are_left_out_have_their_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks/price.py", "30"])

    assert numbers("What it costs.", EXCHANGES=1_000, BUDGET=32_000) == [30, 32_000]


@pytest.mark.parametrize("word", ["many", "0", "1.5", ""])
def test_what_is_no_number_gets_a_sentence(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks/price.py", word])

    with pytest.raises(SystemExit):
        numbers("What it costs.", EXCHANGES=1_000)

    assert f"python -m benchmarks.price: error: argument EXCHANGES: {word!r} is no number from 1 on." in (
        capsys.readouterr().err
    )


def test_no_key_and_no_setting_of_the_caller_reaches_a_server_that_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a benchmark would ask a real service, which costs money, and measure it."""
    theirs = ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OLLAMA_HOST", "PALIMPSEST_MODEL", "HTTPS_PROXY", "all_proxy")
    for name in theirs:
        monkeypatch.setenv(name, "of the caller")

    assert "of the caller" not in environment().values()
    assert "PATH" in environment()


def test_figures_of_a_quick_run_are_never_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["price", "--quick", "--keep"])

    assert "leave out --quick or --keep" in capsys.readouterr().err
