"""Behind an `@` stand the files and folders a tool may read, the likeliest first; behind a leading `/` the commands;
and nothing anywhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from palimpsest.services.chat import mentions
from palimpsest.services.chat.mentions import MAX_ITEMS, Completion, ItemKind, Mentions, rank_of
from palimpsest.services.workspace.files import WorkspaceFiles


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    for path in ("src/app.py", "src/application/wrap.py", "docs/my notes.md", "test_app.py", "node_modules/app.js"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("x")
    (folder / ".env").write_text("x")
    (folder / "build.log").write_text("x")
    (folder / ".gitignore").write_text("*.log\n")
    (tmp_path / "outside.txt").write_text("x")
    os.symlink("../outside.txt", folder / "outside.txt")
    return folder


async def complete(root: Path, marked: str) -> Completion:
    """`marked` holds a `|` where the cursor is."""
    position = marked.index("|")
    return await Mentions(WorkspaceFiles(root)).complete(marked.replace("|", ""), position)


async def inserted(root: Path, marked: str) -> list[str]:
    return [item.insert_text for item in (await complete(root, marked)).items]


@pytest.mark.parametrize(
    ("marked", "first"),
    [
        ("look at @app|", ["@src/app.py", "@src/application/", "@test_app.py", "@src/application/wrap.py"]),
        ("@APP.py|", ["@src/app.py", "@test_app.py"]),
        ("@src/app|", ["@src/app.py", "@src/application/", "@src/application/wrap.py"]),
        ("@tap|", ["@test_app.py"]),
        ("@swp|", ["@src/application/wrap.py"]),
        ("(@notes|)", ['@"docs/my notes.md"']),
        ('@"my n|', ['@"docs/my notes.md"']),
        ("@zzz|", []),
        ("@env|", []),
        ("@log|", []),
        ("@outside|", []),
        ("@app.js|", []),
    ],
)
async def test_files_that_may_be_read_are_offered_best_first(root: Path, marked: str, first: list[str]) -> None:
    found = await inserted(root, marked)
    assert found[: len(first)] == first
    assert bool(found) == bool(first)


async def test_without_a_query_what_lies_nearest_the_root_is_offered(root: Path) -> None:
    found = await complete(root, "@|")
    assert [item.label for item in found.items] == [
        ".gitignore",
        "docs/",
        "src/",
        "test_app.py",
        "my notes.md",
        "app.py",
        "application/",
        "wrap.py",
    ]
    assert {item.kind for item in found.items if item.label.endswith("/")} == {ItemKind.FOLDER}
    assert not found.is_incomplete


async def test_what_was_typed_from_its_sign_on_is_replaced(root: Path) -> None:
    found = await complete(root, "see @ap| and more")
    assert (found.start, found.items[0].path, found.items[0].detail) == (4, "src/app.py", "src")


@pytest.mark.parametrize("marked", ["", "word|", "me@app|", "@app |", "a /con|", "/usr/b|", "|@app", " /con|"])
async def test_elsewhere_nothing_is_offered(root: Path, marked: str) -> None:
    assert await inserted(root, marked or "|") == []


@pytest.mark.parametrize(
    ("marked", "offered"),
    [
        ("/conte|", ["/context "]),
        ("/S|", ["/summarize ", "/stats", "/search ", "/share ", "/shared "]),
        ("/sumarise|", ["/summarize ", "/share ", "/shared "]),
        ("/qqqqq|", []),
    ],
)
async def test_a_leading_slash_offers_the_commands(root: Path, marked: str, offered: list[str]) -> None:
    assert await inserted(root, marked) == offered
    every = await complete(root, "/|")
    assert "/help" in [item.insert_text for item in every.items]
    assert all(item.detail for item in every.items)


async def test_what_is_offered_is_bounded_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(MAX_ITEMS + 5):
        (tmp_path / f"file{number:03}.txt").write_text("x")
    many = await complete(tmp_path, "@file|")
    assert (len(many.items), many.is_incomplete) == (MAX_ITEMS, True)
    few = await complete(tmp_path, "@file00|")
    assert [item.label for item in few.items[:10]] == [f"file00{number}.txt" for number in range(10)]
    assert not few.is_incomplete
    monkeypatch.setattr(mentions, "MAX_ENTRIES", 3)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/other.txt").write_text("x")
    cut = await complete(tmp_path, "@other|")
    assert (cut.items, cut.is_incomplete) == ((), True)


async def test_a_walk_is_used_again_for_a_while(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    each = Mentions(WorkspaceFiles(root))
    assert not (await each.complete("@fresh", 6)).items
    (root / "fresh.py").write_text("x")
    assert not (await each.complete("@fresh", 6)).items
    monkeypatch.setattr(mentions, "KEPT_S", -1.0)
    other = Mentions(WorkspaceFiles(root))
    await other.complete("@fresher", 8)
    (root / "fresher.py").write_text("x")
    assert [item.label for item in (await other.complete("@fresher", 8)).items] == ["fresher.py"]


def test_the_characters_must_stand_in_the_path_in_order() -> None:
    assert rank_of("src/app.py", "ypp") is None
    assert rank_of("src/app.py", "scap") is not None
    assert rank_of("src/app.py", "") is not None


async def test_a_very_long_text_costs_nothing(root: Path) -> None:
    text = "x" * 3_000_000 + " @wrap"
    found = await Mentions(WorkspaceFiles(root)).complete(text, len(text))
    assert [item.label for item in found.items] == ["wrap.py"]
