"""What imports compile from texts is kept from one process to the next, and changes nothing of what is imported."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import attr._make
import pytest

from palimpsest.machine import imports
from palimpsest.machine.imports import fast_imports, kept_patterns

MODULE = r"""
import dataclasses, re, attrs

@dataclasses.dataclass(frozen=True, order=True)
class Point:
    x: int
    y: int = DEFAULT

@attrs.define
class Line:
    start: Point
    end: Point

PATTERN = re.compile(r"(?P<year>\d{4})-(?:0[1-9]|1[0-2])", re.ASCII)
OCTETS = re.compile(rb"[\x00-\x1f]+")
"""
PROGRAM = """
import json, sys
texts = []
sys.addaudithook(lambda event, given: texts.append(str(given[1])) if event == "compile" else None)
from palimpsest.machine.imports import fast_imports
import re._parser
parsed = []
parse = re._parser.parse
re._parser.parse = lambda *given: parsed.append(given[0]) or parse(*given)
import attrs, dataclasses
texts.clear()
with fast_imports("test"):
    import shapes
made = [each for each in texts if each.startswith("<")]
line = shapes.Line(shapes.Point(1), shapes.Point(1, 2))
print(json.dumps({
    "classes compiled": len(made),
    "patterns compiled": len(parsed),
    "does": [
        repr(line), line == shapes.Line(shapes.Point(1), shapes.Point(1, 2)), line.start < line.end,
        shapes.PATTERN.match("2026-11")["year"], shapes.PATTERN.match("2026-13") is None,
        shapes.PATTERN.pattern, shapes.PATTERN.flags, shapes.OCTETS.sub(b"", b"a\\x01b").decode(),
    ],
}))
"""


@pytest.fixture
def run(tmp_path: Path) -> Any:
    """Imports the module in a process of its own, whose code is kept in `tmp_path`."""
    (tmp_path / "package").mkdir()

    def import_it(default: int = 1, **variables: str) -> dict[str, Any]:
        (tmp_path / "package" / "shapes.py").write_text(MODULE.replace("DEFAULT", str(default)))
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        path = os.pathsep.join([str(tmp_path / "package"), *sys.path])
        environment |= {"PYTHONPYCACHEPREFIX": str(tmp_path / "kept"), "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment | variables, capture_output=True, check=True
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return import_it


def kept(folder: Path) -> list[Path]:
    return list(folder.rglob("*.texts"))


def test_a_second_process_compiles_nothing(run: Any) -> None:
    first, second = run(), run()

    assert first["classes compiled"] > 1
    assert first["patterns compiled"] == 2
    assert (second["classes compiled"], second["patterns compiled"]) == (0, 0)
    assert first["does"] == second["does"]


def test_a_class_that_changed_is_compiled_anew(run: Any) -> None:
    run(1)

    # Longer as well: Python tells a module of the same second and size from no other.
    assert run(77)["does"][0] == "Line(start=Point(x=1, y=77), end=Point(x=1, y=2))"


@pytest.mark.parametrize("place", [0, 3, 10, 200, -1])
def test_a_damaged_file_is_as_none(run: Any, tmp_path: Path, place: int) -> None:
    does = run()["does"]
    (file,) = kept(tmp_path)
    content = bytearray(file.read_bytes())
    content[place] ^= 0xFF
    file.write_bytes(content)

    damaged = run()
    assert damaged["does"] == does
    assert damaged["patterns compiled"] == 2

    file.write_bytes(content[: len(content) // 2])
    assert run()["does"] == does
    assert run()["patterns compiled"] == 0  # it was written anew


def test_nothing_is_written_where_the_code_of_modules_is_not(run: Any, tmp_path: Path) -> None:
    assert run(PYTHONDONTWRITEBYTECODE="1")["patterns compiled"] == 2
    assert kept(tmp_path) == []


def test_patterns_of_other_threads_are_not_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    Path(importlib.util.cache_from_source(imports.__file__)).parent.mkdir(parents=True)

    def compile_it() -> None:
        assert re.compile(r"words of a user (\d)").match("words of a user 7")

    with kept_patterns("test"):
        assert re.compile(r"a pattern of ours (\d)").match("a pattern of ours 7")
        other = threading.Thread(target=compile_it)
        other.start()
        other.join()

    (file,) = kept(tmp_path)
    assert b"a pattern of ours" in file.read_bytes()
    assert b"words of a user" not in file.read_bytes()


def test_nothing_stays_hidden(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    compiler = vars(re)["_compiler"]
    before = compiler.compile, compiler._sre

    with pytest.raises(ModuleNotFoundError), fast_imports("test"), fast_imports("test"):
        importlib.import_module("no_such_module")

    assert (compiler.compile, compiler._sre) == before
    assert "compile" not in vars(attr._make)
    assert "exec" not in vars(dataclasses)
