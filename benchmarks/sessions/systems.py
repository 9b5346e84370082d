"""What is measured: the engine of this checkout in several setups, of another checkout, and simple references."""

from __future__ import annotations

import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.conversation import Setup
from benchmarks.driving.sessions import SessionSystem
from benchmarks.sessions.recording import Message
from benchmarks.sessions.replay import System
from benchmarks.sessions.scripted_models import SCRIPTED

from palimpsest.services.models.tokenizers import load_tokenizer

PLAIN: Final = Setup(recalls=True)
CLAUDE: Final = "claude-opus-5-5"
VARIANTS: Final = ("switch", "window", "claude")
"""Beside the plain one: a switch to half the budget and back in the middle, a budget that is the model's window and not
`context.max_tokens`, and Claude's count of tokens."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: a system that can be made anew for each session."""

    name: str
    make: Callable[[int], System]
    """Takes the budget, in the model's tokens."""
    setup: Setup = PLAIN
    is_switched: bool = False
    is_reference: bool = False


def product_rows(variants: Sequence[str], scripted: Sequence[str]) -> list[Row]:
    """The engine of this checkout: plain, in each variant, and with each scripted model as the writer of summaries."""
    rows = [_product("palimpsest", PLAIN)]
    for variant in variants:
        match variant:
            case "switch":
                rows.append(_product("  a switch down and up", PLAIN, is_switched=True))
            case "window":
                rows.append(_product("  by the window", Setup(recalls=True, is_capped=False)))
            case _:
                rows.append(_product("palimpsest", Setup(recalls=True, counts_as=CLAUDE)))
    for name in scripted:
        rows.append(_product(f"  hybrid, {name}", Setup(recalls=True, summaries_by=SCRIPTED[name]())))
    return rows


def _product(name: str, setup: Setup, *, is_switched: bool = False) -> Row:
    def make(budget: int) -> System:
        return SessionSystem(budget, setup, [budget // 2] if is_switched else [])

    return Row(name, make, setup, is_switched)


def checkout_row(checkout: Path) -> Row:
    """The engine of another checkout of ours, through its line protocol."""
    return Row(f"at {checkout.name}", lambda budget: Checkout(checkout, budget))


def reference_rows(folder: Path, kinds: Sequence[str]) -> list[Row]:
    """The builders of `session_baselines.py` in that folder."""
    load_tokenizer("cl100k_base", vocabularies())  # theirs is found where ours was unpacked
    sys.path.insert(0, str(folder))
    builders = importlib.import_module("session_baselines")
    return [Row(kind, functools.partial(_Reference, builders, kind), is_reference=True) for kind in kinds]


def vocabularies() -> Path:
    """Where the tokenizer that measures is unpacked, once a machine."""
    return Path(tempfile.gettempdir()) / "palimpsest-benchmark-vocabularies"


class _Reference:
    n_compactions: int | None = None
    prepare_ms: float | None = None

    def __init__(self, builders: Any, kind: str, budget: int) -> None:
        self._builder = builders.make(kind, budget)

    def append(self, message: Message) -> None:
        self._builder.append(message)

    def context(self) -> list[Message]:
        return list(self._builder.context())

    def switch(self, _budget: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


class Checkout:
    """A process of `benchmarks.system` in another checkout: with the Python of its environment, else with ours."""

    n_compactions: int | None = None
    prepare_ms: float | None = None

    def __init__(self, checkout: Path, budget: int) -> None:
        own = checkout / ".venv" / "bin" / "python"
        path = os.pathsep.join(str(checkout / each) for each in ("server", "clients", "."))
        self._process = subprocess.Popen(
            [str(own) if own.exists() else sys.executable, "-m", "benchmarks.system"],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        self._ask({"op": "open", "budget": budget})

    def append(self, message: Message) -> None:
        self._ask({"op": "append", "message": message})

    def context(self) -> list[Message]:
        answer: list[Message] = self._ask({"op": "context"})["messages"]
        return answer

    def switch(self, _budget: int) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._process.communicate(timeout=60)

    def _ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request, ensure_ascii=False) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())
