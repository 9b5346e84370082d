"""The view of an interactive terminal: what a running request does, on the screen.

Finished blocks of an answer, notes and tool calls are printed once. The block that grows, and the line that says what
is waited for, are drawn by the screen for as long as they change.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from rich.console import RenderableType
from rich.spinner import Spinner
from rich.text import Text

from palimpsest.printing import sanitise
from palimpsest.terminal import texts
from palimpsest.terminal.blocks import GrowingMarkdown
from palimpsest.terminal.calls import EDIT_TOOL, Event, ServerNote, WorkDone
from palimpsest.terminal.render import first_sentence, lasting, one_line, passing
from palimpsest.terminal.rendering import ChatMarkdown, plain, table
from palimpsest.terminal.screen import Screen
from palimpsest.wire.areas.turns import DeltaType, TurnDelta
from palimpsest.wire.areas.usage import ContextEvent
from palimpsest.wording import counted

_SHOWN_LINES: Final = 12
"""The most lines of a message of the user that are shown above its answer."""
_SLOW_S: Final = 2
"""From so many seconds on, the line that says what is waited for says how long."""
_TARGETS: Final = ("path", "command", "pattern", "query", "text", "question", "name")
"""Arguments of tools that say what a call is about, the clearest first."""


_LONGEST_LINE: Final = 1_000


@dataclass(slots=True)
class _ToolCall:
    name: str
    arguments: str = ""
    line: str = ""
    """The newest of what it writes."""

    def newest_line(self, written: str) -> str:
        """The newest line with words, with this piece."""
        *whole, rest = re.split(r"[\r\n]", self.line + written)
        self.line = rest[:_LONGEST_LINE]
        return next(filter(None, map(one_line, (self.line, *reversed(whole)))), "")

    @property
    def target(self) -> str:
        """What the call is about, on one line."""
        try:
            given = json.loads(self.arguments or "{}")
        except ValueError:
            return one_line(self.arguments)
        if not isinstance(given, dict):
            return one_line(self.arguments)
        for name in _TARGETS:
            value = given.get(name)
            if isinstance(value, list):
                value = " ".join(map(str, value))
            if isinstance(value, str) and value.strip():
                return one_line(value)
        return one_line(self.arguments) if given else ""


class ConsoleView:
    """Shows events on a screen."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._answer = GrowingMarkdown()
        self._thought = ""
        self._is_thinking = False
        self._has_thought = False
        """Whether a line of the thought that runs was printed."""
        self._waiting = ""
        """What is waited for; empty when nothing is."""
        self._since = 0.0
        self._spinner = Spinner("dots" if screen.painter.has_unicode else "line")
        self._setback = ""
        """The error of a model call. It is shown only when the turn goes on; otherwise the turn's own error says it."""
        self._tool_calls: dict[str, _ToolCall] = {}
        self._painted: tuple[tuple[str, int], str] = (("", 0), "")
        screen.growing = self._growing
        self.model = ""
        """The model that answers, when it is known."""

    # ----------------------------------------------------------------------------------------------------- plain lines

    def say(self, text: str) -> None:
        self.screen.print(plain(text))

    def draft(self, text: str) -> None:
        self.screen.put_back(sanitise(text))

    def note(self, text: str) -> None:
        self.screen.print(plain(text, "note"))

    def fail(self, sentence: str) -> None:
        self.screen.print(plain(sentence, "error"))

    def answer(self, markdown: str) -> None:
        self.screen.print(ChatMarkdown(markdown), is_apart=True)

    def recall(self, text: str) -> None:
        self.screen.print(plain(text, "note"), is_apart=True)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.screen.print(table(columns, rows), is_apart=True)

    def echo(self, message: str) -> None:
        """Show a line that the user entered, above its answer."""
        lines = sanitise(message).split("\n")
        if len(lines) > _SHOWN_LINES + 1:
            more = f"… {counted(len(lines) - _SHOWN_LINES, f'{texts.MORE_LINES} line')}"
            lines = [*lines[:_SHOWN_LINES], more]
        self.screen.print(
            Text("\n".join([f"> {lines[0]}", *(f"  {line}" for line in lines[1:])]), "you"), is_apart=True
        )

    # --------------------------------------------------------------------------------------------------------- events

    def wait_for(self, what: str) -> None:
        """Show what is waited for from now on, until `finish`."""
        if what != self._waiting:
            self._waiting, self._since = what, time.monotonic()
        self.screen.redraw()

    @property
    def is_waiting(self) -> bool:
        return bool(self._waiting)

    def waiting_line(self, width: int) -> RenderableType:
        """What is waited for, and for how long."""
        elapsed = time.monotonic() - self._since
        frames = self._spinner.frames
        frame = frames[int(elapsed * 1000 / self._spinner.interval) % len(frames)]
        took = f" · {int(elapsed)} s" if elapsed >= _SLOW_S else ""
        tail = f"{took} · {texts.STOP_KEY}"
        line = Text.assemble((f"{frame} ", "you"), _fitted(self._waiting, width - len(tail) - 2), (tail, "note"))
        line.no_wrap = True
        return line

    def show(self, event: Event) -> None:
        if isinstance(event, TurnDelta):
            self._show_delta(event)
        elif isinstance(event, ContextEvent):
            self._show_context(event)
        elif isinstance(event, WorkDone):
            self._show_work(event)
        elif isinstance(event, ServerNote):
            # Above the block that grows, which it must not cut in two.
            self.note(event.text)
        else:
            assert_never(event)

    def finish(self) -> None:
        self.settle()
        for call in self._tool_calls.values():
            self._show_call(call, texts.used(call.name)[0], texts.NO_RESULT)
        self._tool_calls.clear()
        self._setback = ""
        self._waiting = ""
        self.screen.redraw()

    def _show_delta(self, delta: TurnDelta) -> None:
        text = sanitise(delta.text or "")
        if delta.type in (DeltaType.TEXT, DeltaType.THINKING, DeltaType.TOOL_CALL) and self._setback:
            self.note(self._setback)
            self._setback = ""
        match delta.type:
            case DeltaType.TURN:
                self.wait_for(self._model_does(texts.THINKING))
            case DeltaType.PAUSE:
                self.wait_for(texts.asks_again(text, delta.retry_after_ms or 0))
            case DeltaType.TEXT:
                self._end_thought()
                self.wait_for(self._model_does(texts.WRITING))
                if finished := self._answer.feed(text):
                    self.answer(finished)
            case DeltaType.THINKING:
                self._end_answer()
                self._is_thinking = True
                self._thought += text
                *whole, self._thought = self._thought.split("\n")
                self._show_thought("\n".join(whole))
                self.wait_for(self._model_does(texts.THINKING))
            case DeltaType.TOOL_CALL:
                self.settle()
                self._tool_calls[delta.call_id or ""] = _ToolCall(delta.name or "tool")
            case DeltaType.TOOL_ARGUMENTS:
                if (call := self._tool_calls.get(delta.call_id or "")) is not None:
                    call.arguments += text
            case DeltaType.TOOL_START:
                self.settle()
                call = self._tool_calls.setdefault(delta.call_id or "", _ToolCall(delta.name or "tool"))
                self.wait_for(f"{texts.used(call.name)[0]} {call.target}".rstrip())
            case DeltaType.TOOL_OUTPUT:
                call = self._tool_calls.setdefault(delta.call_id or "", _ToolCall(delta.name or "tool"))
                if line := call.newest_line(text):
                    self.wait_for(f"{texts.used(call.name)[0]} {call.target}: {line}")
            case DeltaType.TOOL_RESULT:
                self.settle()
                call = self._tool_calls.pop(delta.call_id or "", _ToolCall(delta.name or "tool"))
                if delta.is_error:
                    doing = f"{texts.used(call.name)[0]} {call.target}".rstrip()
                    self.screen.print(Text(f"→ {one_line(texts.not_done(doing, first_sentence(text)))}", "note"))
                else:
                    outcome = "" if call.name == EDIT_TOOL else counted(len(text.splitlines()), "line")
                    self._show_call(call, texts.used(call.name)[1], outcome)
                self.wait_for(self._model_does(texts.THINKING))
            case DeltaType.DONE:
                self.settle()
            case DeltaType.ERROR:
                self.settle()
                self._setback = text
            case _:
                assert_never(delta.type)
        self.screen.redraw()

    def _model_does(self, what: str) -> str:
        return f"{self.model or texts.THE_MODEL} {what}"

    def _show_call(self, call: _ToolCall, verb: str, outcome: str) -> None:
        done = f"{verb} {call.target}".rstrip()
        tail = f" · {outcome}" if outcome else ""
        line = _fitted(f"→ {done}", self.screen.width - len(tail))
        self.screen.print(Text(f"{line}{tail}", "note", no_wrap=True))

    def _show_context(self, event: ContextEvent) -> None:
        if (sentence := lasting(event)) is not None:
            self.note(sentence)
        elif (state := passing(event)) is not None:
            self.wait_for(state)

    def _show_work(self, work: WorkDone) -> None:
        if work.is_over:
            self.wait_for(self._model_does(texts.THINKING))
        elif work.text:
            self.wait_for(work.text if work.percentage is None else f"{work.text} ({work.percentage}%)")

    # -------------------------------------------------------------------------------------------------- what grows

    def _growing(self, width: int, rows: int) -> str:
        source = self._answer.tail(rows) if self._answer.rest else self._thought
        if (source, width) != self._painted[0]:
            what = ChatMarkdown(source) if self._answer.rest else plain(self._thought_with_head(source), "note")
            self._painted = (source, width), self.screen.painter.paint(what, width) if source.strip() else ""
        return self._painted[1]

    def settle(self) -> None:
        """Print what grows: something else comes next."""
        self._end_thought()
        self._end_answer()

    def _end_answer(self) -> None:
        if (finished := self._answer.end()).strip():
            self.answer(finished)

    def _end_thought(self) -> None:
        if self._is_thinking:
            rest, self._thought = self._thought, ""
            self._show_thought(rest)
            self._is_thinking = self._has_thought = False

    def _show_thought(self, text: str) -> None:
        if text.strip():
            self.screen.print(
                plain(self._thought_with_head(text), "note"), is_apart=not self._has_thought, goes_on=self._has_thought
            )
            self._has_thought = True

    def _thought_with_head(self, text: str) -> str:
        return text if self._has_thought else f"{texts.THOUGHT}{text.lstrip()}"


def _fitted(text: str, width: int) -> str:
    """One line of at most `width` columns."""
    fitted = Text(one_line(text))
    fitted.truncate(max(width, 1), overflow="ellipsis")
    return fitted.plain
