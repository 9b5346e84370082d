"""The view of an interactive terminal: answers as they come, dimmed notes, and a status line that is rewritten."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from palimpsest.printing import sanitise
from palimpsest.terminal.calls import Event, ServerNote, WorkDone
from palimpsest.terminal.render import lasting, one_line, passing
from palimpsest.wire.areas.turns import DeltaType, TurnDelta
from palimpsest.wire.areas.usage import ContextEvent
from palimpsest.wording import counted

_DIM = Style(dim=True)
_RED = Style(color="red")
_CODES = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(slots=True)
class _ToolCall:
    name: str
    arguments: str = ""


class ConsoleView:
    """Tracks the cursor: every line begins at the left, and the status line is cleared before other text."""

    def __init__(self) -> None:
        self.is_dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
        is_plain = self.is_dumb or bool(os.environ.get("NO_COLOR"))
        self._console = Console(highlight=False, markup=False, emoji=False, color_system=None if is_plain else "auto")
        self._is_at_left = True
        self._has_status = False
        self._is_thinking = False
        self._setback = ""
        """The error of a model call. It is shown only when the turn goes on; otherwise the turn's own error says it."""
        self._tool_calls: dict[str, _ToolCall] = {}

    # ----------------------------------------------------------------------------------------------------- plain lines

    def say(self, text: str) -> None:
        self._line(text)

    def note(self, text: str) -> None:
        self._line(self._wrapped(text), _DIM)

    def fail(self, sentence: str) -> None:
        self._line(self._wrapped(sentence), _RED)

    def answer(self, markdown: str) -> None:
        from rich.markdown import Markdown  # imported for the first answer, to show the first prompt sooner

        with self._console.capture() as rendered:
            self._console.print(Markdown(sanitise(markdown), hyperlinks=False))
        # Without the blanks that fill every line, and with one empty line where a table has several around it.
        lines = [line.rstrip() if _CODES.sub("", line).strip() else "" for line in rendered.get().splitlines()]
        self._to_left()
        self._put(re.sub("\n{3,}", "\n\n", "\n".join(lines).strip("\n")) + "\n")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self._to_left()
        table = Table(*columns, box=None, pad_edge=False, header_style=_DIM)
        for row in rows:
            table.add_row(*(Text(one_line(cell)) for cell in row))
        self._console.print(table)

    # --------------------------------------------------------------------------------------------------------- events

    def show(self, event: Event) -> None:
        if isinstance(event, TurnDelta):
            self._show_delta(event)
        elif isinstance(event, ContextEvent):
            self._show_context(event)
        elif isinstance(event, WorkDone):
            self._show_work(event)
        elif isinstance(event, ServerNote):
            self.note(event.text)
        else:
            assert_never(event)

    def show_stopping(self) -> None:
        """Show that the turn was asked to end. The rest of its answer is still shown."""
        self._set_status("stopping…")

    def finish(self) -> None:
        self._end_thinking()
        for call in self._tool_calls.values():
            self._line(_fit(f"→ {call.name} {call.arguments} (no result)", self._console.width), _DIM)
        self._tool_calls.clear()
        self._setback = ""
        self._to_left()

    def _show_delta(self, delta: TurnDelta) -> None:
        text = delta.text or ""
        if delta.type in (DeltaType.TEXT, DeltaType.THINKING, DeltaType.TOOL_CALL) and self._setback:
            self._line(self._setback, _DIM)
            self._setback = ""
        match delta.type:
            case DeltaType.TURN:
                self._set_status("…")
            case DeltaType.TEXT:
                self._end_thinking()
                self._write(text)
            case DeltaType.THINKING:
                if not self._is_thinking:
                    self._to_left()
                    self._write("thinking: ", _DIM)
                    self._is_thinking = True
                self._write(text, _DIM)
            case DeltaType.TOOL_CALL:
                self._tool_calls[delta.call_id or ""] = _ToolCall(delta.name or "tool")
            case DeltaType.TOOL_ARGUMENTS:
                if (call := self._tool_calls.get(delta.call_id or "")) is not None:
                    call.arguments += text
            case DeltaType.TOOL_START:
                self._end_thinking()
                call = self._tool_calls.setdefault(delta.call_id or "", _ToolCall(delta.name or "tool"))
                self._set_status(f"→ {call.name} {call.arguments} …")
            case DeltaType.TOOL_RESULT:
                self._end_thinking()
                call = self._tool_calls.pop(delta.call_id or "", _ToolCall(delta.name or "tool"))
                size = len(text.splitlines())
                count = f"({counted(size, 'line')})"
                self._line(_fit(f"→ {call.name} {call.arguments}", self._console.width - len(count) - 1, count), _DIM)
            case DeltaType.DONE:
                pass
            case DeltaType.ERROR:
                self._setback = text
            case _:
                assert_never(delta.type)

    def _show_context(self, event: ContextEvent) -> None:
        if (sentence := lasting(event)) is not None:
            self._line(sentence, _DIM)
        elif (state := passing(event)) is not None:
            self._set_status(state)

    def _show_work(self, work: WorkDone) -> None:
        if work.is_over:
            self._clear_status()
        elif work.text:
            self._set_status(work.text if work.percentage is None else f"{work.text} ({work.percentage}%)")

    # -------------------------------------------------------------------------------------------------------- writing

    def _end_thinking(self) -> None:
        if self._is_thinking:
            self._is_thinking = False
            self._to_left()

    def _line(self, text: str, style: Style | None = None) -> None:
        self._to_left()
        self._write(text, style)
        self._to_left()

    def _wrapped(self, text: str) -> str:
        """The text with line breaks at blanks; a terminal would break lines anywhere."""
        width = max(self._console.width - 1, 1)
        return "\n".join(
            textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False, replace_whitespace=False)
            for line in text.split("\n")
        )

    def _to_left(self) -> None:
        self._clear_status()
        if not self._is_at_left:
            self._put("\n")
            self._is_at_left = True

    def _write(self, text: str, style: Style | None = None) -> None:
        text = sanitise(text)
        if text:
            self._clear_status()
            self._put(text, style)
            self._is_at_left = text.endswith("\n")

    def _set_status(self, text: str) -> None:
        """Replace the status line. A terminal that cannot rewrite a line shows none."""
        if self.is_dumb:
            return
        if not self._has_status:
            self._to_left()
        # One column stays free: some terminals wrap a line that fills the last one.
        self._put("\r" + self._styled(_fit(text, self._console.width - 1), _DIM) + "\x1b[K")
        self._has_status = True

    def _clear_status(self) -> None:
        if self._has_status:
            self._put("\r\x1b[K")
            self._has_status = False

    def _put(self, text: str, style: Style | None = None) -> None:
        self._console.file.write(self._styled(text, style) if style is not None else text)
        self._console.file.flush()

    def _styled(self, text: str, style: Style) -> str:
        return text if self._console.color_system is None else style.render(text)


def _fit(text: str, width: int, tail: str = "") -> str:
    """One line of at most `width` columns, followed by `tail`."""
    fitted = Text(one_line(text))
    fitted.truncate(max(width, 1), overflow="ellipsis")
    return f"{fitted.plain} {tail}".rstrip()
