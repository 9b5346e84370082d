"""Only `lsp/runtime` knows how pygls works inside: nothing else of the server uses a private name of it."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pygls
import pytest

SERVER = Path(__file__).parents[2] / "server"
RUNTIME = SERVER / "palimpsest/lsp/runtime"
OUTSIDE = sorted(
    path
    for path in (SERVER / "palimpsest").rglob("*.py")
    if RUNTIME not in path.parents
    and "pygls" in path.read_text("utf-8") + ("pygls" if "lsp" in path.relative_to(SERVER).parts else "")
)
"""The modules that import pygls, and all of `lsp`: its classes are built on those of the runtime."""


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_names() -> set[str]:
    """Every private attribute, function and class of pygls."""
    found = set()
    for path in Path(inspect.getfile(pygls)).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Attribute(attr=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    found.add(name)
                case ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                    found.add(name)
    return {name for name in found if is_private(name) and name != "_"}


PRIVATE = private_names()


def uses(source: str, of_pygls: set[str]) -> Iterator[str]:
    """The private names of pygls in a module: imported, read from another object, or read from `self` in a class whose
    name is in `of_pygls`, because it is built on one of pygls."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pygls":
            yield from (each.name for each in node.names if is_private(each.name))
            yield from (part for part in (node.module or "").split(".") if is_private(part))
        if isinstance(node, ast.Attribute) and node.attr in PRIVATE and not _is_self(node.value):
            yield node.attr
        if isinstance(node, ast.ClassDef) and node.name in of_pygls:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Attribute) and inner.attr in PRIVATE and _is_self(inner.value):
                    yield inner.attr


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def built_on_pygls(path: Path) -> set[str]:
    """The classes of a module that inherit from one of pygls."""
    name = ".".join(path.relative_to(SERVER).with_suffix("").parts).removesuffix(".__init__")
    return {
        cls.__name__
        for cls in vars(importlib.import_module(name)).values()
        if isinstance(cls, type)
        and cls.__module__ == name
        and any(base.__module__.split(".")[0] == "pygls" for base in cls.__mro__)
    }


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: path.relative_to(SERVER / "palimpsest").as_posix())
def test_no_private_name_of_pygls_is_used(path: Path) -> None:
    assert sorted(uses(path.read_text("utf-8"), built_on_pygls(path))) == []


def test_each_way_to_a_private_name_is_seen() -> None:
    assert "_thread_pool" in PRIVATE
    for source in (
        "from pygls.protocol.language_server import _prepare_command_arguments",
        "server._thread_pool.shutdown()",
        "class Ours(Theirs):\n    def end(self):\n        self._thread_pool = None",
    ):
        assert len(list(uses(source, {"Ours"}))) == 1
    assert list(uses("class Other:\n    def end(self):\n        self._thread_pool = None", {"Ours"})) == []


def test_the_list_of_defects_names_the_installed_version_and_files_that_are_there() -> None:
    text = (RUNTIME / "README.md").read_text("utf-8")
    assert f"pygls {importlib.metadata.version('pygls')} " in text
    named = re.findall(r"`(\w+\.py)`", text)
    assert named
    assert [name for name in named if not (RUNTIME / name).is_file()] == []
