"""A fact's place is found after any edit: lines that say the same are not stale, lines that say something else are."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from palimpsest.domain.facts.fact import FactState, Span
from palimpsest.domain.facts.staleness.anchor import Anchor, make_anchor
from palimpsest.domain.facts.staleness.check import Verdict, check_file
from palimpsest.domain.facts.staleness.file_lines import FileLines
from palimpsest.domain.facts.staleness.relocate import Candidates, relocate
from palimpsest.domain.facts.staleness.symbols import enclosing_symbol, find_symbol
from palimpsest.domain.facts.staleness.tokens.stream import LONGEST_READ

_SUFFIXES = (
    "py",
    "ts",
    "go",
    "rs",
    "java",
    "c",
    "lua",
    "rb",
    "sh",
    "php",
    "sql",
    "css",
    "html",
    "md",
    "yaml",
    "toml",
    "json",
    "ini",
    "",
)
_CHARACTERS = st.one_of(st.characters(), st.sampled_from("\n\n\r\t  \"'`#/*-{}()[],:;=\\_ab1"))
_TEXTS = st.text(_CHARACTERS, max_size=200)
_few = examples(30)
_WORDS = st.lists(
    st.sampled_from("alpha beta gamma delta size count load save retry limit".split()), min_size=2, max_size=5
)


def check(path: str, before: str, span: Span | None, after: str) -> Verdict:
    anchor = make_anchor(path, before, span)
    [verdict] = check_file(path, FileLines.of(before), [anchor], after)
    return verdict


@st.composite
def _files(draw: st.DrawFn) -> tuple[list[str], Span]:
    """A file of functions (each line once), and the span of one of them or of one of its lines."""
    lines: list[str] = []
    spans: list[Span] = []
    for number in range(draw(st.integers(1, 6))):
        start = len(lines) + 1
        lines.append(f"def {'_'.join(draw(_WORDS))}_{number}(value):")
        for step in range(draw(st.integers(1, 4))):
            lines.append(f"    {draw(_WORDS)[0]}_{number}_{step} = {'('.join(draw(_WORDS))}{step}")
            spans.append(Span(len(lines), len(lines)))
        spans.append(Span(start, len(lines)))
        lines.append("")
    return lines, draw(st.sampled_from(spans))


@_few
@given(_files(), st.data())
def test_edits_outside_a_span_never_make_it_stale_and_its_lines_are_found(
    file: tuple[list[str], Span], data: st.DataObject
) -> None:
    lines, span = file
    above, inside, below = lines[: span.start - 1], lines[span.start - 1 : span.end], lines[span.end :]
    for part in (above, below):
        for _ in range(data.draw(st.integers(0, 2))):
            at = data.draw(st.integers(0, len(part)))
            part[at:at] = data.draw(
                st.lists(st.sampled_from(["x = (", '"""', "# said", "", "unfinished {["]), max_size=3)
            )
        if part:
            del part[data.draw(st.integers(0, len(part) - 1))]
    if below and below[0][:1] in ("", " "):
        below.insert(0, "after = 1")  # what is indented behind a function would belong to it
    verdict = check("a.py", "\n".join(lines), span, "\n".join([*above, *inside, *below]))
    assert verdict.state in (FactState.FRESH, FactState.MOVED)
    assert verdict.span == Span(len(above) + 1, len(above) + len(inside))


@_few
@given(_TEXTS, st.sampled_from(_SUFFIXES), st.integers(1, 9), st.integers(0, 4))
def test_a_file_as_it_was_is_fresh(text: str, suffix: str, start: int, length: int) -> None:
    verdict = check(f"a.{suffix}", text, Span(start, start + length), text)
    assert (verdict.state, verdict.note) == (FactState.FRESH, "")


@_few
@given(
    _TEXTS,
    _TEXTS,
    st.sampled_from(_SUFFIXES),
    st.one_of(st.none(), st.builds(Span, st.integers(1, 9), st.integers(1, 9))),
)
def test_any_text_gets_a_verdict_whose_lines_exist(before: str, after: str, suffix: str, span: Span | None) -> None:
    verdict = check(f"a.{suffix}", before, span, after)
    if verdict.span is not None:
        assert 1 <= verdict.span.start <= verdict.span.end <= len(FileLines.of(after).hashes)


@_few
@given(_TEXTS, st.sampled_from(_SUFFIXES), st.integers(1, 9))
def test_an_anchor_and_a_file_s_lines_come_back_as_they_were(text: str, suffix: str, start: int) -> None:
    anchor = make_anchor(f"a.{suffix}", text, Span(start, start + 1), "symbol")
    assert Anchor.from_json(json.loads(json.dumps(anchor.to_json()))) == anchor
    assert FileLines.from_bytes(FileLines.of(text).to_bytes()) == FileLines.of(text)


@_few
@given(_files(), st.sampled_from(("py", "rb", "js")), st.booleans())
def test_an_older_anchor_saves_reading_and_changes_nothing(
    file: tuple[list[str], Span], suffix: str, are_same_lines: bool
) -> None:
    lines, span = file
    older = make_anchor("a.py", "\n".join(lines), span, "symbol")
    after = "\n".join(["import above", *lines])
    now = Span(span.start + 1, span.end + 1) if are_same_lines else span
    assert make_anchor(f"b.{suffix}", after, now, "symbol", older) == make_anchor(f"b.{suffix}", after, now, "symbol")


@_few
@given(_files())
def test_a_word_inside_the_span_makes_it_stale(file: tuple[list[str], Span]) -> None:
    lines, span = file
    edited = list(lines)
    edited[span.end - 1] += " + another"
    assert check("a.py", "\n".join(lines), span, "\n".join(edited)).state is FactState.CHANGED


@_few
@given(_files())
def test_an_equal_copy_that_was_there_before_is_never_taken_for_an_edited_span(file: tuple[list[str], Span]) -> None:
    lines, span = file
    before = [*lines, "separator = 1", *lines[span.start - 1 : span.end], "rest = 2"]
    after = list(before)
    after[span.start - 1 : span.end] = [f"{line} + another" for line in lines[span.start - 1 : span.end]]
    verdict = check("a.py", "\n".join(before), span, "\n".join(after))
    assert verdict.state.is_stale
    assert verdict.span is None or verdict.span.end <= len(lines)


@_few
@given(_files(), st.sampled_from(["\r\n", "\r"]), st.booleans())
def test_line_ends_a_byte_order_mark_and_white_space_at_line_ends_are_formatting(
    file: tuple[list[str], Span], line_end: str, has_mark: bool
) -> None:
    lines, span = file
    after = "\ufeff" * has_mark + line_end.join(f"{line}  " for line in lines)
    assert check("a.py", "\n".join(lines), span, after) == Verdict(FactState.FRESH, span, "formatting")


def _same(path: str, before: str, after: str) -> Verdict:
    """The verdict on all lines of `before`, which are between two other lines."""
    n_lines = before.count("\n") + 1
    return check(path, f"first\n{before}\nlast", Span(2, 1 + n_lines), f"first\n{after}\nlast")


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", "call(one, two)", "call(\n    one,\n    two,\n)"),
        ("a.py", "if x:\n    y = 'a'", 'if x:\n  y = "a"'),
        ("a.ts", "const a = f('x', 1);", 'const a = f(\n  "x",\n  1,\n)'),
        ("a.rs", "let a = foo(b, c);", "let a = foo(\n    b,\n    c,\n);"),
        ("a.go", "a := T{B: 1, Cc: 2}", "a := T{\n\tB:  1,\n\tCc: 2,\n}"),
        ("A.java", "int f(int a) { return a; }", "int f(int a)\n{\n    return a;\n}"),
        ("a.lua", "local t = { 'a', 'b' }", 'local t = {\n  "a",\n  "b",\n}'),
        ("a.rb", "call 'a', b", 'call "a",\n  b'),
        ("a.json", '{"a": [1, 2], "b": 3}', '{\n  "a": [\n    1,\n    2\n  ],\n  "b": 3\n}'),
        ("a.yaml", "key:\n- a\n- b: 'x'", 'key:\n    - a\n    - b: "x"'),
        ("a.toml", "a = ['x', 'y']", 'a = [\n  "x",\n  "y",\n]'),
        ("a.md", "Some words that\nwrap here.", "Some words\nthat wrap here."),
        ("a.md", "* one\n* two", "- one\n- two"),
        ("a.css", "a { color: red; b: 'x' }", 'a {\n  color: red;\n  b: "x"\n}'),
        ("a.sh", "run a b", "run a \\\n  b"),
    ],
)
def test_another_layout_of_the_same_tokens_is_formatting(path: str, before: str, after: str) -> None:
    verdict = _same(path, before, after)
    assert (verdict.state, verdict.note) == (FactState.FRESH, "formatting")
    assert verdict.span == Span(2, 2 + after.count("\n"))


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", "if x:\n    y()\n    z()", "if x:\n    y()\nz()"),
        ("a.py", "x = 'a  b'", "x = 'a b'"),
        ("a.py", "x = (a)", "x = (a,)"),
        ("a.ts", "fetch('https://a/b')", "fetch('https://a/c')"),
        ("a.ts", "const r = /https?:\\/\\/a/", "const r = /https?:\\/\\/b/"),
        ("a.yaml", "a:\n  b: 1\n  c: 2", "a:\n  b: 1\nc: 2"),
        ("a.yaml", "a: 1", "a: '1'"),
        ("a.md", "- one\n- two", "- two\n- one"),
        ("a.md", "- one\n- two", "- one\n  - two"),
        ("a.sh", "run a\nb", "run a b"),
        ("a.sh", "echo $#", "echo $1"),
        ("a.toml", 'a = "x"', 'a = "y"'),
        ("a.json", '{"a": "x  y"}', '{"a": "x y"}'),
        ("a.sql", "select 'it''s'", "select 'its'"),
    ],
)
def test_another_meaning_is_stale_however_small(path: str, before: str, after: str) -> None:
    assert _same(path, before, after).state.is_stale


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("a.py", "x = 1  # so", "x = 1  # because"),
        ("a.go", "a() // so", "a()"),
        ("a.c", "/* so */ a();", "/* because\n of that */ a();"),
        ("a.sql", "select 1 -- so", "select 1 -- because"),
        ("a.html", "<p>a</p><!-- so -->", "<p>a</p>"),
        ("a.yaml", "a: 1 # so", "a: 1"),
    ],
)
def test_an_edited_comment_is_a_note(path: str, before: str, after: str) -> None:
    verdict = _same(path, before, after)
    assert (verdict.state.is_stale, verdict.note) == (False, "comments")


def test_a_fact_about_a_comment_is_stale_when_the_comment_says_something_else() -> None:
    assert _same("a.py", "# never more than ten", "# never more than twenty").state.is_stale


def test_a_function_that_was_cut_and_pasted_has_moved() -> None:
    body = "def moved_away(value):\n    total = value + 1\n    return store.keep(total)"
    others = [f"def other_{n}():\n    return {n} * factor" for n in range(6)]
    before = "\n\n".join([body, *others])
    assert check("a.py", before, Span(1, 3), "\n\n".join([*others, body])) == Verdict(FactState.MOVED, Span(19, 21))


def test_a_line_put_at_the_end_of_a_function_changes_it() -> None:
    before = "def f():\n    a()\n\nx = 1"
    verdict = check("a.py", before, Span(1, 2), "def f():\n    a()\n    b()\n\nx = 1")
    assert verdict == Verdict(FactState.CHANGED, Span(1, 3))


def test_what_is_deleted_is_missing() -> None:
    before = "def f():\n    a()\n\n\ndef g():\n    return 12"
    assert check("a.py", before, Span(1, 2), "def g():\n    return 12") == Verdict(FactState.MISSING, None)


def test_the_whole_file_is_stale_when_anything_is_said_otherwise() -> None:
    assert check("a.py", "x = 1\n", None, "x = 2\n") == Verdict(FactState.CHANGED, None)
    assert check("a.py", "x = 1\n", None, "x  =  1\n") == Verdict(FactState.FRESH, None, "formatting")


def test_lines_end_at_line_ends_alone() -> None:
    assert len(FileLines.of("a\u2028b\x0cc\r\nd\re\n").hashes) == 4


@pytest.mark.parametrize(
    ("path", "text", "line", "name", "span"),
    [
        ("a.py", "class A:\n    @cached\n    def f(self):\n        x = 1\n        return x\n", 4, "A.f", Span(2, 5)),
        ("a.ts", "export class A {\n  async f(a: B): C {\n    g(a)\n  }\n}\n", 3, "A.f", Span(2, 4)),
        ("a.go", "func (r *T) Name(a int) error {\n\treturn nil\n}\n", 2, "Name", Span(1, 3)),
        (
            "a.rs",
            "impl<T> Read for File<T> {\n    pub fn read(&self) -> u8 {\n        1\n    }\n}\n",
            3,
            "File.read",
            Span(2, 4),
        ),
        ("A.java", "public class A {\n  public List<B> f(C c) {\n    return g(c);\n  }\n}\n", 3, "A.f", Span(2, 4)),
        ("a.c", "static int f(int a)\n{\n  return a;\n}\n", 3, "f", Span(1, 4)),
        ("a.lua", "local function f(a)\n  return a\nend\n", 2, "f", Span(1, 3)),
        ("a.rb", "class A\n  def f?\n    true\n  end\nend\n", 3, "A.f?", Span(2, 4)),
        ("a.sh", "deploy() {\n  run\n}\n", 2, "deploy", Span(1, 3)),
        ("a.md", "# A\n\n## B\ntext\n\n## C\n", 4, "A.B", Span(3, 4)),
        ("a.yaml", "a:\n  b:\n    c: 1\n  d: 2\n", 3, "a.b.c", Span(3, 3)),
        ("a.toml", "[a]\nb = 1\n", 2, "a.b", Span(2, 2)),
        ("a.json", '{\n  "a": {\n    "b": 1\n  }\n}\n', 3, "a.b", Span(3, 3)),
    ],
)
def test_a_line_is_anchored_to_what_it_lies_in_and_that_is_found_by_its_name(
    path: str, text: str, line: int, name: str, span: Span
) -> None:
    assert enclosing_symbol(path, text, line) == (span, name)
    assert find_symbol(path, text, name) == span


@_few
@given(_TEXTS, st.sampled_from(_SUFFIXES), st.integers(0, 12), st.text(max_size=8))
def test_symbols_are_looked_for_in_any_text(text: str, suffix: str, line: int, name: str) -> None:
    found = enclosing_symbol(f"a.{suffix}", text, line)
    assert found is None or found[0].start <= line <= found[0].end
    find_symbol(f"a.{suffix}", text, name)


def _numbered(topic: str, n_lines: int = 20) -> str:
    return "\n".join(f"{topic}_{n} = {topic}({n})" for n in range(n_lines))


def test_a_renamed_file_is_found_by_its_lines() -> None:
    text = _numbered("load")
    anchor = make_anchor("old.py", text, Span(3, 3))
    edited = text.replace("load_9 ", "load_nine ")
    candidates = Candidates.of([("other.py", _numbered("save")), ("new/place.py", edited)])
    assert relocate(FileLines.of(text), [anchor], candidates) == "new/place.py"


def test_two_files_that_could_be_it_are_none() -> None:
    text = _numbered("load")
    assert relocate(FileLines.of(text), [], Candidates.of([("a.py", text), ("b.py", text)])) is None


def test_a_file_in_which_the_places_do_not_stand_is_not_it() -> None:
    text = _numbered("load")
    anchor = make_anchor("old.py", text, Span(3, 3))
    edited = text.replace("load_2 ", "x ")
    assert relocate(FileLines.of(text), [anchor], Candidates.of([("new.py", edited)])) is None


@_few
@given(st.frozensets(st.integers(1, 30), min_size=1), st.lists(st.frozensets(st.integers(1, 30), min_size=1)))
def test_no_file_with_half_the_lines_in_common_is_overlooked(
    wanted: frozenset[int], others: list[frozenset[int]]
) -> None:
    texts = [(str(number), "\n".join(map(str, sorted(lines)))) for number, lines in enumerate(others)]
    lost = frozenset(FileLines.of("\n".join(map(str, wanted))).hashes)
    found = {int(path): share for share, path, _ in Candidates.of(texts).like(lost)}
    assert found == {
        number: pytest.approx(share)
        for number, lines in enumerate(others)
        if (share := 2 * len(lines & wanted) / (len(lines) + len(wanted))) >= 0.5
    }


@pytest.mark.parametrize("blank", [" ", "\n", "\t\n"])
def test_a_long_file_of_white_space_can_be_rested_on(blank: str) -> None:
    anchor = make_anchor("a.py", blank * (LONGEST_READ + 1), None)
    assert anchor.n_tokens == 0
