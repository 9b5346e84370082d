"""Markdown, code, diffs and tables as text for a terminal: wrapped at blanks, in colors of the terminal's own palette.

Only colors are used that are legible on a dark and on a light background, because a terminal does not say which it has.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from markdown_it.token import Token
from pygments.token import (
    Comment,
    Error,
    Generic,
    Keyword,
    Literal,
    Name,
    Number,
    Operator,
    String,
    Whitespace,
)
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.markdown import CodeBlock, Heading, Markdown, Paragraph, TableElement
from rich.padding import Padding
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from palimpsest.printing import sanitise
from palimpsest.terminal.blocks import parse
from palimpsest.terminal.render import one_line

STYLES: Final = {
    "note": "dim",
    "error": "bold red",
    "you": "bold cyan",
    "question": "bold magenta",
    "key": "bold",
    "brand": "bold magenta",
    "column": "bold",
    "markdown.h1": "bold underline magenta",
    "markdown.h2": "bold magenta",
    "markdown.h3": "bold",
    "markdown.h4": "italic bold",
    "markdown.h5": "italic",
    "markdown.h6": "italic",
    "markdown.code": "cyan",
    "markdown.code_block": "none",
    "markdown.block_quote": "dim",
    "markdown.item.bullet": "dim",
    "markdown.item.number": "dim",
    "markdown.hr": "dim",
    "markdown.link": "underline",
    "markdown.link_url": "dim underline",
    "markdown.table.border": "dim",
    "markdown.table.header": "bold",
}
_CODE: Final = ANSISyntaxTheme(
    {
        Comment: Style(dim=True, italic=True),
        Comment.Preproc: Style(color="magenta"),
        Keyword: Style(color="magenta"),
        Keyword.Type: Style(color="cyan"),
        Operator.Word: Style(color="magenta"),
        Name.Builtin: Style(color="cyan"),
        Name.Function: Style(bold=True),
        Name.Class: Style(bold=True),
        Name.Decorator: Style(color="magenta"),
        Name.Exception: Style(color="cyan"),
        Name.Tag: Style(color="magenta"),
        Name.Attribute: Style(color="cyan"),
        String: Style(color="green"),
        Number: Style(color="cyan"),
        Literal: Style(color="cyan"),
        Whitespace: Style(),
        Generic.Heading: Style(bold=True),
        Generic.Subheading: Style(color="cyan"),
        Generic.Inserted: Style(color="green"),
        Generic.Deleted: Style(color="red"),
        Generic.Error: Style(color="red"),
        Error: Style(),
    }
)
_INDENT: Final = 2
_CELL: Final = 8
"""The least columns of a cell of a table, with the gap behind it."""
_GAP: Final = 3
"""The columns between two cells."""
PROSE_COLUMNS: Final = 100
"""The longest line of prose. Code and tables may be wider."""
_CODES: Final = re.compile(r"\x1b\[[0-9;]*m")
_END: Final = re.compile(r"(?: |\x1b\[[0-9;]*m)+$")
_TASKS: Final = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


class Painter:
    """Turns what is to be shown into text with the codes of colors that this terminal has."""

    def __init__(self) -> None:
        found = Console(theme=Theme(STYLES), highlight=False)
        # A terminal that knows no colors has no bold letters either; NO_COLOR takes only the colors.
        self._color_system = found.color_system
        self.has_color = found.color_system is not None and not os.environ.get("NO_COLOR")
        # Without colors, code in a line of text is told apart by its weight.
        self._theme = Theme(STYLES if self.has_color else {**STYLES, "markdown.code": "bold"})
        self.has_unicode = found.encoding.lower().startswith("utf")

    def paint(self, what: RenderableType, width: int) -> str:
        """The lines, each without blanks at its end. Nothing but `width` and `what` counts."""
        console = Console(
            file=io.StringIO(),
            width=max(width, 8),
            color_system=self._color_system,  # type: ignore[arg-type]  # its own value
            no_color=not self.has_color,
            force_terminal=True,
            legacy_windows=False,
            safe_box=not self.has_unicode,
            theme=self._theme,
            highlight=False,
            markup=False,
            emoji=False,
            soft_wrap=False,
        )
        with console.capture() as captured:
            console.print(what)
        lines = [line if _CODES.sub("", line).strip() else "" for line in captured.get().splitlines()]
        return "\n".join(map(_without_end, lines)).strip("\n")


class ChatMarkdown(Markdown):
    """The Markdown of an answer. What it decodes cannot control the terminal either."""

    def __init__(self, text: str) -> None:
        super().__init__("", hyperlinks=False)
        self.markup = text
        self.parsed = [_harmless(token) for token in parse(sanitise(text))]
        for item, opened in zip(self.parsed[1:], self.parsed, strict=False):
            if opened.type == "paragraph_open" and item.children and item.level > 1:
                first = item.children[0]
                for mark, box_ in _TASKS.items():
                    first.content = box_ + first.content[4:] if first.content.startswith(mark) else first.content


class _Heading(Heading):
    """A heading at the left."""

    LEVEL_ALIGN = {}  # noqa: RUF012  # of rich


class _Paragraph(Paragraph):
    """Prose in lines that can be read on a wide terminal too."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Constrain(self.text, PROSE_COLUMNS)


class _Code(CodeBlock):
    """Code without a background, indented, so that it is told from text without colors too."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Padding(code(str(self.text), self.lexer_name), (0, 0, 0, _INDENT))


class _Table(TableElement):
    """A table whose rows are told apart when cells are wrapped. Where there is no room for its columns, each row is
    lines of its own."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        columns = self.header.row.cells if self.header is not None and self.header.row is not None else []
        rows = [[cell.content for cell in row.cells] for row in self.body.rows] if self.body is not None else []
        if options.max_width < _CELL * len(columns):
            yield Text("\n\n").join(_record([each.content for each in columns], row) for row in rows or [[]])
            return
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, style="markdown.table.border")
        cells = [[column.content, *(row[n] for row in rows if n < len(row))] for n, column in enumerate(columns)]
        widths = _widths(cells, options.max_width - _GAP * (len(columns) - 1))
        for column, width in zip(columns, widths, strict=True):
            head = "markdown.table.header"
            table.add_column(column.content, justify=column.justify, header_style=head, overflow="fold", width=width)
        for row in rows:
            table.add_row(*row)
        yield table


def _widths(columns: Sequence[Sequence[Text]], room: int) -> list[int]:
    """The widths of columns that together have this room: no word is broken where that can be, and what is left is
    shared fairly, so that the columns that need most are the ones that are wrapped."""
    whole = [max(cell.cell_len for cell in cells) for cells in columns]
    words = [max((cell_len(word) for cell in cells for word in cell.plain.split()), default=1) for cells in columns]
    most = max(words, default=1)
    while sum(min(word, most) for word in words) > room and most > 1:
        most -= 1
    widths = [max(min(word, most), 1) for word in words]
    left = max(room - sum(widths), 0)
    for n_before, column in enumerate(sorted(range(len(widths)), key=lambda each: whole[each] - widths[each])):
        given = min(whole[column] - widths[column], left // (len(widths) - n_before))
        widths[column], left = widths[column] + given, left - given
    return widths


def _record(heads: Sequence[Text], row: Sequence[Text]) -> Text:
    """A row of a table as lines, each a head and its cell."""
    lines = [
        Text.assemble((head.plain, "markdown.table.header"), ": " if head.plain else "", cell)
        for head, cell in zip_longest(heads, row, fillvalue=Text())
    ]
    return Text("\n").join(lines)


ChatMarkdown.elements = {
    **Markdown.elements,
    "heading_open": _Heading,
    "paragraph_open": _Paragraph,
    "fence": _Code,
    "code_block": _Code,
    "table_open": _Table,
}


def code(text: str, language: str) -> Syntax:
    """Code in colors. A language that is not known has none."""
    return Syntax(text.rstrip("\n"), language, theme=_CODE, word_wrap=True, background_color="default", tab_size=4)


def plain(text: str, style: str = "") -> Text:
    """Text as it is."""
    return Text(sanitise(text), style, overflow="fold")


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Rows under column heads. The column with the longest text is the one that is wrapped."""
    made = Table(box=None, pad_edge=False, header_style="column", padding=(0, 2, 0, 0))
    longest = [max((len(row[column]) for row in rows), default=0) for column in range(len(columns))]
    for name, length in zip(columns, longest, strict=True):
        made.add_column(name, no_wrap=length < max(longest), overflow="fold" if length == max(longest) else "ellipsis")
    for row in rows:
        made.add_row(*(Text(one_line(cell)) for cell in row))
    return made


def _harmless(token: Token) -> Token:
    token.content = sanitise(token.content)
    token.children = [_harmless(child) for child in token.children] if token.children is not None else None
    return token


def _without_end(line: str) -> str:
    """The line without blanks at its end; codes between and behind them stay."""
    return _END.sub(lambda found: found[0].replace(" ", ""), line)
