"""The reading tools give a model numbered lines it can cite, never more than one answer takes, and say what is missing;
the editor's text wins over the disk; and no pattern hangs the server."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import psutil
import pytest
from jsonschema import Draft202012Validator
from tests.waiting import WAIT_S

from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.services.tools.read_files import MAX_LISTED, MAX_OUTPUT_BYTES, ReadingTools
from palimpsest.services.tools.toolbox import Tool
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.texts import MAX_SEARCHED_BYTES

HANGS = r"^(\w+\s?)*$"
"""Takes for ever on `"word " * 20 + "!"`."""


class Desk:
    """One workspace folder, what an editor holds open of it, and the tools by name."""

    def __init__(self, root: Path, timeout_s: float = 30) -> None:
        self.root = root
        self.editor: dict[str, str] = {}
        reading = ReadingTools(WorkspaceFiles(root), lambda: dict(self.editor), timeout_s)
        self.tools: dict[str, Tool] = {tool.schema.name: tool for tool in reading.tools()}

    def write(self, path: str, data: str | bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data if isinstance(data, bytes) else data.encode())

    async def call(self, name: str, /, **arguments: object) -> str:
        output = await self.tools[name].run(json.dumps(arguments))
        assert not output.is_error
        return output.text


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# read_file


async def test_lines_stand_behind_their_numbers(desk: Desk) -> None:
    desk.write("a.txt", "one\n\n  three\n")
    assert await desk.call("read_file", path="a.txt") == "1\tone\n2\t\n3\t  three"


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"start_line": 2, "end_line": 3}, "2\tb\n3\tc\n[Lines 2 to 3 of 5.]"),
        ({"start_line": 4}, "4\td\n5\te\n[Lines 4 to 5 of 5.]"),
        ({"end_line": 1}, "1\ta\n[Lines 1 to 1 of 5.]"),
        ({"start_line": 5, "end_line": 900}, "5\te\n[Lines 5 to 5 of 5.]"),
        ({"start_line": 1, "end_line": 5}, "1\ta\n2\tb\n3\tc\n4\td\n5\te"),
    ],
)
async def test_a_range_is_read_with_the_number_of_all_lines(desk: Desk, arguments: dict[str, int], answer: str) -> None:
    desk.write("a.txt", "a\nb\nc\nd\ne")
    assert await desk.call("read_file", path="a.txt", **arguments) == answer


async def test_a_range_that_holds_nothing_is_an_error(desk: Desk) -> None:
    desk.write("a.txt", "a\nb\n")
    with pytest.raises(InvalidRequest, match="only 2 lines"):
        await desk.call("read_file", path="a.txt", start_line=3)
    with pytest.raises(InvalidRequest, match="Swap them"):
        await desk.call("read_file", path="a.txt", start_line=2, end_line=1)


async def test_a_long_file_is_read_to_its_end_by_following_the_notes(desk: Desk) -> None:
    lines = [f"line {i} " + "é" * 40 for i in range(1, 1501)]
    desk.write("a.txt", "\n".join(lines))
    read: list[str] = []
    n_answers = 0
    while len(read) < len(lines):
        answer = await desk.call("read_file", path="a.txt", start_line=len(read) + 1)
        assert len(answer.encode()) < MAX_OUTPUT_BYTES + 200
        body = [line for line in answer.split("\n") if not line.startswith("[")]
        read += [line.partition("\t")[2] for line in body]
        n_answers += 1
        assert (f"go on with start_line {len(read) + 1}." in answer) == (len(read) < len(lines))
    assert read == lines
    assert n_answers > 3


async def test_a_line_that_is_too_long_is_cut_and_says_so(desk: Desk) -> None:
    desk.write("a.txt", "x" * 100_000 + "\nshort")
    first, second = (await desk.call("read_file", path="a.txt")).split("\n")
    assert first == "1\t" + "x" * 2000 + "… [100000 characters]"
    assert second == "2\tshort"


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (b"a\r\nb\rc\n", "1\ta\n2\tb\n3\tc"),
        ("a\x0cb\u2028c\n".encode(), "1\ta\x0cb\u2028c"),
        (b"\xef\xbb\xbfmarked", "1\tmarked"),
        (b"caf\xe9", "1\tcafé\n[The file is not UTF-8; it is read as Latin-1.]"),
        ("né".encode("utf-16"), "1\tné\n[The file is not UTF-8; it is read as UTF-16.]"),
        (b"", "[The file is empty.]"),
        (b"\n", "1\t"),
    ],
)
async def test_line_ends_and_encodings_are_understood(desk: Desk, data: bytes, answer: str) -> None:
    desk.write("a.txt", data)
    assert await desk.call("read_file", path="a.txt") == answer


@pytest.mark.parametrize("data", [b"text\0text", b"\x89PNG\r\n\0\xff", b"\xff\xfe\x00", b"\xff\x01\x02"])
async def test_a_binary_file_is_refused(desk: Desk, data: bytes) -> None:
    desk.write("a.txt", data)
    with pytest.raises(InvalidRequest, match=f"binary file of {len(data)} bytes"):
        await desk.call("read_file", path="a.txt")


async def test_what_only_begins_as_a_picture_does_is_refused_as_one(desk: Desk) -> None:
    desk.write("a.txt", b"\x89PNG\r\n\x1a\n\xff")
    with pytest.raises(InvalidRequest, match="damaged"):
        await desk.call("read_file", path="a.txt")


async def test_a_private_key_under_another_name_is_refused(desk: Desk) -> None:
    desk.write("deploy.txt", "key: |\n  -----BEGIN OPENSSH PRIVATE KEY-----\n  abc\n")
    desk.write("about.py", 'begins = b"-----BEGIN PRIVATE KEY-----"\n')
    with pytest.raises(InvalidRequest, match="private key"):
        await desk.call("read_file", path="deploy.txt")
    assert "begins" in await desk.call("read_file", path="about.py")
    desk.write("open.txt", "saved without")
    desk.editor["open.txt"] = desk.editor["draft.txt"] = "-----BEGIN RSA PRIVATE KEY-----\nabc"
    for path in desk.editor:
        with pytest.raises(InvalidRequest, match="private key"):
            await desk.call("read_file", path=path)
    answer = await desk.call("search_files", pattern="BEGIN")
    assert [line for line in answer.split("\n") if not line.startswith("[")] == [
        "about.py",
        '1\tbegins = b"-----BEGIN PRIVATE KEY-----"',
    ]


async def test_what_is_refused_says_why(desk: Desk) -> None:
    desk.write(".env", "KEY=1")
    with pytest.raises(InvalidRequest, match="holds secrets"):
        await desk.call("read_file", path=".env")
    with pytest.raises(InvalidRequest, match="outside"):
        await desk.call("search_files", path="/etc", pattern="root")
    with pytest.raises(InvalidRequest, match=r"`\.\.`"):
        await desk.call("list_files", path="..")
    with pytest.raises(NotFound, match="list_files shows"):
        await desk.call("read_file", path="nowhere.txt")


# What editors hold


async def test_the_text_in_the_editor_wins_over_the_disk(desk: Desk) -> None:
    desk.write("src/a.txt", "on disk")
    desk.editor["src/a.txt"] = "in the editor"
    assert await desk.call("read_file", path="./src/a.txt") == (
        "1\tin the editor\n[This is the text in the editor; it is not saved.]"
    )
    assert await desk.call("search_files", pattern="in the") == "src/a.txt\n1\tin the editor"
    assert await desk.call("search_files", pattern="on disk") == "[No line matches.]"


async def test_what_is_open_and_saved_is_not_called_unsaved(desk: Desk) -> None:
    desk.write("a.txt", "same\r\n")
    desk.editor["a.txt"] = "same\n"
    assert await desk.call("read_file", path="a.txt") == "1\tsame"


async def test_a_file_that_was_never_saved_is_read_listed_and_searched(desk: Desk) -> None:
    desk.write("b.txt", "b")
    desk.editor["a.txt"] = "fresh"
    assert await desk.call("read_file", path="a.txt") == (
        "1\tfresh\n[This is the text in the editor; the file was never saved.]"
    )
    assert await desk.call("list_files") == "a.txt\nb.txt"
    assert await desk.call("search_files", pattern="fresh") == "a.txt\n1\tfresh"
    assert await desk.call("search_files", pattern="fresh", glob="*.md") == "[No line matches.]"


@pytest.mark.parametrize("path", [".env", "ignored.txt", "../outside.txt", "/etc/passwd", "linked.txt"])
async def test_what_may_not_be_read_may_not_be_read_from_the_editor(desk: Desk, tmp_path: Path, path: str) -> None:
    desk.root = tmp_path / "root"
    desk = Desk(desk.root)
    desk.write(".gitignore", "ignored.txt\n")
    (tmp_path / "outside.txt").write_text("KEY")
    (desk.root / "linked.txt").hardlink_to(tmp_path / "outside.txt")
    desk.editor[path] = "KEY"
    with pytest.raises(InvalidRequest):
        await desk.call("read_file", path=path)
    assert "KEY" not in await desk.call("search_files", pattern="KEY")
    assert await desk.call("list_files") == ".gitignore\nlinked.txt"


# list_files


async def test_files_are_listed_in_the_order_of_paths_and_two_folders_deep(desk: Desk) -> None:
    for path in ("b.txt", "a/x.py", "a/deep/y.py", "a.txt", ".env", "node_modules/z.js"):
        desk.write(path, "")
    assert await desk.call("list_files") == "a/\na/deep/\na/x.py\na.txt\nb.txt"
    assert await desk.call("list_files", depth=1) == "a/\na.txt\nb.txt"
    assert await desk.call("list_files", path="a", depth=3) == "a/deep/\na/deep/y.py\na/x.py"
    assert await desk.call("list_files", glob="*.py") == "a/deep/y.py\na/x.py"
    assert await desk.call("list_files", path="a", glob="*.js") == "[Nothing here that may be read.]"


async def test_a_long_list_keeps_what_lies_nearest_and_says_how_much_there_is(desk: Desk) -> None:
    for i in range(MAX_LISTED + 5):
        desk.write(f"many/{i}.txt", "")
    desk.write("z.txt", "")
    lines = (await desk.call("list_files")).split("\n")
    assert lines[0] == "many/"
    assert lines[-2:] == ["z.txt", f"[{MAX_LISTED} of {MAX_LISTED + 7} entries. Name a folder below, or a glob.]"]
    assert len(lines) == MAX_LISTED + 1


async def test_a_listing_names_ignore_patterns_that_are_not_used(desk: Desk) -> None:
    desk.write("src/.gitignore", "*.log\n" + "a*" * 600 + "\n")
    desk.write("src/a.log", "")
    listed = await desk.call("list_files")
    assert "a.log" not in listed
    assert "1 ignore patterns are too long or too many (src/.gitignore:2 first)" in listed


async def test_listing_a_file_says_what_reads_it(desk: Desk) -> None:
    desk.write("a.txt", "")
    with pytest.raises(InvalidRequest, match="read_file"):
        await desk.call("list_files", path="a.txt")


# search_files


async def test_matching_lines_come_by_file_with_their_numbers(desk: Desk) -> None:
    desk.write("b.py", "x\r\ndef one():\r\n\x0cdef two():\n")
    desk.write("a/c.py", "# def\nclass A:\n    def three(self): ...")
    desk.write("a/d.md", "def four")
    assert await desk.call("search_files", pattern=r"def \w+\(", glob="*.py") == (
        "b.py\n2\tdef one():\n3\t\x0cdef two():\na/c.py\n3\t    def three(self): ..."
    )
    assert await desk.call("search_files", pattern="^def", path="a") == "a/d.md\n1\tdef four"
    assert await desk.call("search_files", pattern="four$", path="a/d.md") == "a/d.md\n1\tdef four"


async def test_plain_text_and_case(desk: Desk) -> None:
    desk.write("a.txt", "f(x)\nF(X)\nfx")
    assert await desk.call("search_files", pattern="f(x)") == "a.txt\n3\tfx"
    assert await desk.call("search_files", pattern="f(x)", literal=True) == "a.txt\n1\tf(x)"
    assert await desk.call("search_files", pattern="f(x)", literal=True, ignore_case=True) == "a.txt\n1\tf(x)\n2\tF(X)"


async def test_a_search_ends_at_its_limit_and_says_so(desk: Desk) -> None:
    desk.write("a.txt", "hit\n" * 3)
    assert "[" not in await desk.call("search_files", pattern="hit", limit=3)
    assert await desk.call("search_files", pattern="hit", limit=2) == (
        "a.txt\n1\thit\n2\thit\n[More lines match than 2. Narrow the pattern, the path or the glob.]"
    )


async def test_many_files_are_searched_and_an_answer_stays_small(desk: Desk) -> None:
    for i in range(300):
        desk.write(f"{i:03}.txt", f"{'x' * 20_000}\n{i} needle {'é' * 250}\n")
    answer = await desk.call("search_files", pattern="needle", limit=500)
    assert answer.startswith("000.txt\n2\t0 needle")
    assert answer.endswith("[More would be too long for one answer. Narrow the pattern, the path or the glob.]")
    assert len(answer.encode()) < MAX_OUTPUT_BYTES + 200
    assert (await desk.call("search_files", pattern="^299 needle")).startswith("299.txt\n2\t299 needle")


async def test_a_long_line_is_shown_around_its_match(desk: Desk) -> None:
    desk.write("a.min.js", "x" * 50_000 + "needle" + "y" * 50_000)
    line = (await desk.call("search_files", pattern="needle")).split("\t")[1]
    assert line.startswith("…x")
    assert "needle" in line
    assert line.endswith("y…")
    assert len(line) == 302


async def test_files_that_are_no_text_or_too_large_are_left_out_and_counted(desk: Desk) -> None:
    desk.write("a.bin", b"needle\0")
    desk.write("b.txt", "needle".ljust(MAX_SEARCHED_BYTES + 1))
    desk.write("c.txt", "needle")
    assert await desk.call("search_files", pattern="needle") == (
        "c.txt\n1\tneedle\n[2 files not searched: binary, too large, or not readable.]"
    )


async def test_searching_one_file_that_cannot_be_read_says_why(desk: Desk) -> None:
    desk.write("a.bin", b"needle\0")
    with pytest.raises(InvalidRequest, match="binary"):
        await desk.call("search_files", pattern="needle", path="a.bin")
    with pytest.raises(NotFound):
        await desk.call("search_files", pattern="needle", path="nowhere.txt")


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "(?P<n>", "a{2,1}", "\\", "(?<=a+)b", "a{99999999999999999999}"])
async def test_a_pattern_that_is_none_is_refused_with_the_reason(desk: Desk, pattern: str) -> None:
    with pytest.raises(InvalidRequest, match=r"not a regular expression that can be used: .+"):
        await desk.call("search_files", pattern=pattern)
    with pytest.raises(InvalidRequest, match="empty"):
        await desk.call("search_files", pattern="")


async def test_a_pattern_that_never_ends_is_ended_and_what_was_found_is_kept(tmp_path: Path) -> None:
    desk = Desk(tmp_path, timeout_s=1)
    desk.write("a.txt", "fine\n" + "word " * 20 + "!")
    answer = asyncio.create_task(desk.call("search_files", pattern=HANGS))
    n_ticks = 0
    while not answer.done():
        await asyncio.wait([answer], timeout=0.01)
        n_ticks += 1
    assert answer.result() == (
        "a.txt\n1\tfine\n[The search was ended after 1 s, before every file was searched. "
        "Narrow the path or the glob, or write a simpler pattern.]"
    )
    assert n_ticks > 10  # meanwhile the event loop ran
    assert not _searching()


async def test_a_search_that_is_cancelled_leaves_no_process(desk: Desk) -> None:
    desk.write("a.txt", "word " * 20 + "!")
    answer = asyncio.create_task(desk.call("search_files", pattern=HANGS))
    async with asyncio.timeout(WAIT_S):
        while not _searching():
            await asyncio.wait([answer], timeout=0.01)
    answer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answer
    assert not _searching()


async def test_a_pattern_that_blows_up_is_ended(tmp_path: Path) -> None:
    desk = Desk(tmp_path, timeout_s=20)
    desk.write("a.txt", "a")
    with pytest.raises(InvalidRequest, match=r"too complex|too much memory"):
        await desk.call("search_files", pattern="(?:" * 5000 + "a" + ")" * 5000)


def _searching() -> list[psutil.Process]:
    children = psutil.Process().children()
    return [child for child in children if any("workers/search" in word for word in child.cmdline())]


# Arguments


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("read_file", "", "'path' is missing"),
        ("read_file", '{"path": null}', "'path' is missing"),
        ("read_file", "{", "not valid JSON"),
        ("read_file", "[" * 100_000, "not valid JSON"),
        ("read_file", '["a.txt"]', "not a JSON object"),
        ("read_file", '"a.txt"', "not a JSON object"),
        ("read_file", '{"path": 7}', "'path' must be a string"),
        ("read_file", '{"path": "a.txt", "start_line": "2"}', "'start_line' must be an integer"),
        ("read_file", '{"path": "a.txt", "start_line": 1.5}', "'start_line' must be an integer"),
        ("read_file", '{"path": "a.txt", "start_line": true}', "'start_line' must be an integer"),
        ("read_file", '{"path": "a.txt", "start_line": 0}', "'start_line' must be at least 1"),
        (
            "read_file",
            '{"path": "a.txt", "lines": 3}',
            "no argument 'lines'.*Known arguments: path, start_line, end_line",
        ),
        ("list_files", '{"depth": 65}', "'depth' must be at most 64"),
        ("list_files", '{"glob": ""}', "glob is empty"),
        ("list_files", '{"glob": "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"}', "too many alternatives"),
        ("search_files", '{"pattern": "x", "literal": 1}', "'literal' must be true or false"),
        ("search_files", '{"pattern": "x", "limit": NaN}', "are not valid JSON"),
    ],
)
async def test_arguments_that_are_wrong_are_refused_so_that_a_model_can_mend_them(
    desk: Desk, name: str, text: str, reason: str
) -> None:
    desk.write("a.txt", "x")
    with pytest.raises(InvalidRequest, match=reason):
        await desk.tools[name].run(text)


async def test_absent_null_and_whole_floats_are_taken_as_meant(desk: Desk) -> None:
    desk.write("a.txt", "a\nb")
    for text in ("", "  ", "{}", '{"path": null}'):
        assert (await desk.tools["list_files"].run(text)).text == "a.txt"
    answer = await desk.tools["read_file"].run('{"path": "a.txt", "start_line": 2.0, "end_line": null}')
    assert answer.text == "2\tb\n[Lines 2 to 2 of 2.]"


def test_the_schemas_are_valid_and_say_what_is_checked(desk: Desk) -> None:
    for tool in desk.tools.values():
        Draft202012Validator.check_schema(tool.schema.parameters)
    assert desk.tools["read_file"].schema.parameters == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path below the workspace folder, with `/`."},
            "start_line": {
                "type": "integer",
                "description": "First line wanted, counted from 1.",
                "minimum": 1,
                "default": 1,
            },
            "end_line": {
                "type": "integer",
                "description": "Last line wanted. Without it: to the end.",
                "minimum": 1,
            },
        },
        "required": ["path"],
        "additionalProperties": False,
    }
