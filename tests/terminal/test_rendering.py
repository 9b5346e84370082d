"""What is painted fits the window, is told apart without colors, and drives nothing."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from palimpsest.terminal.rendering import ChatMarkdown, Painter, code, plain, table

_CODES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def painter(monkeypatch: pytest.MonkeyPatch) -> Painter:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Painter()


def bare(painted: str) -> str:
    return _CODES.sub("", painted)


@given(st.text(), st.integers(8, 120))
def test_no_text_makes_a_line_longer_than_the_window_or_drives_the_terminal(text: str, width: int) -> None:
    for what in (ChatMarkdown(text), plain(text), code(text.replace("\r", ""), "python")):
        painted = bare(Painter().paint(what, width))
        assert all(cell_len(line) <= width for line in painted.split("\n"))
        if not isinstance(what, type(code("", ""))):
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", painted)


def test_what_looks_like_html_or_a_picture_is_shown_and_what_it_encodes_is_harmless(painter: Painter) -> None:
    shown = bare(painter.paint(ChatMarkdown("A Vec<String> &#x202e; <b>\n\n<div>\n\n![pic](a.png) - [x]"), 80))
    assert "Vec<String> \\u202e <b>" in shown
    assert "<div>" in shown
    assert "a.png" in shown


def test_words_are_wrapped_whole_and_wide_ones_by_their_width(painter: Painter) -> None:
    shown = bare(painter.paint(ChatMarkdown("one two three 日本語 " * 3), 20)).split("\n")
    assert shown[0] == "one two three 日本語"
    assert all(cell_len(line) <= 20 for line in shown)


def test_tasks_have_boxes_and_prose_is_not_as_wide_as_a_wide_window(painter: Painter) -> None:
    shown = bare(painter.paint(ChatMarkdown("- [x] done\n- [ ] open\n\n" + "word " * 60), 200))
    assert " • ☑ done\n • ☐ open" in shown
    assert max(map(len, shown.split("\n"))) <= 100


def test_without_colors_code_and_headings_are_told_from_text(monkeypatch: pytest.MonkeyPatch, painter: Painter) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    painted = Painter().paint(ChatMarkdown("# Head\n\n```py\ndef f(): pass\n```"), 80)
    assert not re.search(r"\x1b\[[0-9;]*[3-9][0-9]", painted)
    assert "\x1b[1;4mHead" in painted
    assert "\n  def f(): pass" in bare(painted)


def test_of_a_table_only_the_longest_column_is_wrapped(painter: Painter) -> None:
    shown = bare(painter.paint(table(("No.", "Title", "Changed"), [("1*", "word " * 20, "2026-11-20 09:30")]), 60))
    assert shown.split("\n")[0].split() == ["No.", "Title", "Changed"]
    assert "2026-11-20 09:30" in shown


def test_no_cell_of_a_table_loses_a_letter_where_it_is_narrow(painter: Painter) -> None:
    path, number, wide = "src/palimpsest/terminal/rendering.py", "12345678901234567890", "中文字符测试很长的一行"
    source = f"| Name | Count | 描述 |\n|---|--:|:-:|\n| `{path}` | {number} | {wide} |"
    listed = table(("Name", "N"), [(path * 2, "1")])
    for width in (24, 40, 60):
        columns = [re.split(r"\s{2,}", line) for line in bare(painter.paint(ChatMarkdown(source), width)).split("\n")]
        shown = "".join("".join(each) for each in columns)
        assert "…" not in shown
        assert sorted(c for c in shown if c.isdigit()) == sorted(number)
        assert sorted(set(wide)) == sorted({c for c in shown if c in wide})
        assert "…" not in bare(painter.paint(listed, width))


def test_no_word_of_a_table_is_broken_where_there_is_room_for_it(painter: Painter) -> None:
    head = "| Part | Messages | Tokens | Sent before | Why |\n|---|---|--:|---|---|\n"
    rows = ["| instructions | 0 | 160 | yes | always first |", "| message | 12 | 1,602 | yes | fits as it was said |"]
    shown = bare(painter.paint(ChatMarkdown(head + "\n".join(rows)), 59))
    assert set(re.findall(r"\w+", "".join(rows))) <= set(re.findall(r"\w+", shown))
    assert all(cell_len(line) <= 59 for line in shown.split("\n"))
    wide = bare(painter.paint(ChatMarkdown(head + "\n".join(rows)), 100)).split("\n")
    assert wide[0] == "Part           Messages   Tokens   Sent before   Why"
    assert len(wide) == 4


def test_a_table_of_more_columns_than_there_is_room_for_is_shown_row_by_row(painter: Painter) -> None:
    heads, cells = zip(*((f"head{n}", f"value{n}") for n in range(30)), strict=True)
    source = f"|{'|'.join(heads)}|\n|{'---|' * 30}\n|{'|'.join(cells)}|\n|{'|'.join(cells)}|"
    records = bare(painter.paint(ChatMarkdown(source), 60)).split("\n\n")
    assert records == ["\n".join(f"{head}: {cell}" for head, cell in zip(heads, cells, strict=True))] * 2
