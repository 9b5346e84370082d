"""The documents name what is there, and their examples are ones that the program takes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.documented import DOCUMENTS, FENCED, OURS, ROOT, command_lines, name_of, runs_of_palimpsest

from palimpsest.app.settings_files import load_settings
from palimpsest.cli.main import COMMANDS, build_parser
from palimpsest.domain.errors import InvalidRequest

LAYERS = ("app", "cli", "domain", "lsp", "machine", "services", "storage", "terminal", "wire", "workers")
_LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)")
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_HEADING = re.compile(r"^#+ (.+?)$", re.MULTILINE)
_ANCHOR = re.compile(r'<a id="([^"]+)">')
_TARGET = re.compile(r"(?:^|[^-\w])make (?:-s )?([a-z][a-z-]*)(?![\w-])")
_CODE = re.compile(rf"`((?:server/palimpsest/)?(?:{'|'.join(LAYERS)})/[\w/]+(?:\.\w+)?)`")
"""A module, a file or a folder, or a name in a module."""


every_document = pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)


@every_document
def test_every_link_leads_to_a_file_and_a_heading(document: Path) -> None:
    missing = []
    for name, anchor in _LINK.findall(FENCED.sub("", document.read_text(encoding="utf-8"))):
        path = (document.parent / name).resolve() if name else document
        if not path.exists() or (anchor and anchor not in _anchors(path)):
            missing.append(f"{name}#{anchor}")
    assert missing == []


@cache
def _anchors(document: Path) -> frozenset[str]:
    """The anchors of a page as GitHub and the site make them."""
    text = document.read_text(encoding="utf-8")
    found: dict[str, int] = {}
    for heading in _HEADING.findall(FENCED.sub("", text)):
        anchor = re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower()).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return frozenset([*found, *(f"{name}-{n}" for name, last in found.items() for n in range(1, last + 1))]).union(
        _ANCHOR.findall(text)
    )


@every_document
def test_every_settings_block_is_one_that_the_program_takes(document: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    refused = []
    for language, block in FENCED.findall(document.read_text(encoding="utf-8")):
        if language == "toml" and not block.startswith("# languages.toml"):  # which is Helix's
            file.write_text(block, encoding="utf-8")
            try:
                load_settings(file, None, {}, None)
            except InvalidRequest as error:
                refused.append(str(error))
    assert refused == []


@every_document
def test_every_command_line_is_one_that_the_program_takes(document: Path) -> None:
    for line in command_lines(document.read_text(encoding="utf-8")):
        for words in runs_of_palimpsest(line):
            assert _exit_code(words) in (None, 0), line


def _exit_code(words: list[str]) -> object:
    """With which the parser ends the program; None when it takes the arguments."""
    try:
        build_parser(words[:1]).parse_args(words)
    except SystemExit as error:  # 0 for --help
        return error.code
    return None


@pytest.mark.parametrize(
    "page",
    ["../README", *"tour guide keys local-models facts trust windows recovery terminal fake-provider mcp".split()],
)
def test_the_first_pages_use_words_that_strangers_know(page: str) -> None:
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    plain = re.sub(r"(?:^ {4}.*\n)+", "", _INLINE.sub("", FENCED.sub("", text)), flags=re.MULTILINE)
    assert re.findall(rf"\b(?:{OURS})s?\b", re.sub(r"\]\(.*?\)", "]", plain)) == []


@every_document
def test_every_command_that_a_sentence_names_exists(document: Path) -> None:
    names = {match[1] for code in _code(document) if (match := re.match(r"palimpsest ([a-z][a-z-]+)(?![\w.-])", code))}
    assert names - set(COMMANDS) == set()


@every_document
def test_every_target_of_make_exists(document: Path) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {name for code in _code(document) for name in _TARGET.findall(code)} - targets == set()


def _code(document: Path) -> Iterator[str]:
    text = document.read_text(encoding="utf-8")
    yield from command_lines(text)
    yield from _INLINE.findall(FENCED.sub("", text))


@pytest.mark.parametrize("text", ["palimpsest chat --nonsense", "git diff | palimpsest chat --json -p a | jq .", "x"])
def test_arguments_are_found_in_a_line(text: str) -> None:
    expected = {"p": [["chat", "--nonsense"]], "g": [["chat", "--json", "-p", "a"]], "x": []}
    assert list(runs_of_palimpsest(text)) == expected[text[0]]


@every_document
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


def test_no_change_is_told_twice() -> None:
    """Git keeps both sides where two branches add to the changelog, and so an entry that one of them has reworded."""
    entries = [line for line in (ROOT / "CHANGELOG.md").read_text("utf-8").splitlines() if line.startswith("- ")]
    beginnings = [" ".join(entry.split()[:8]) for entry in entries]
    assert [each for each in beginnings if beginnings.count(each) > 1] == []
