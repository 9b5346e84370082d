"""The documents name what is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LAYERS = ("app", "cli", "domain", "lsp", "machine", "services", "storage", "terminal", "wire", "workers")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
_CODE = re.compile(rf"`((?:server/palimpsest/)?(?:{'|'.join(LAYERS)})/[\w/]+(?:\.\w+)?)`")
"""A module, a file or a folder, or a name in a module."""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file(document: Path) -> None:
    links = _LINK.findall(document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_module_that_is_named_exists(document: Path) -> None:
    named = [found.removeprefix("server/palimpsest/") for found in _CODE.findall(document.read_text(encoding="utf-8"))]
    assert [each for each in named if not _exists(ROOT / "server" / "palimpsest" / each)] == []


def _exists(path: Path) -> bool:
    return path.exists() or path.with_suffix(".py").exists()


@pytest.mark.parametrize(
    "package",
    sorted(path.parent for path in (ROOT / "server" / "palimpsest").rglob("__init__.py")),
    ids=lambda path: path.relative_to(ROOT / "server").as_posix(),
)
def test_every_package_says_in_a_sentence_what_lives_there(package: Path) -> None:
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
    assert text is not None
    assert text.endswith(".")
