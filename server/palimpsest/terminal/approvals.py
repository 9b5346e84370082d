"""Questions whether a tool may run. They are answered by a line of the input; any other line is a message."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from palimpsest.printing import sanitise
from palimpsest.terminal import texts
from palimpsest.terminal.answers import READING_S, answer_of
from palimpsest.terminal.console import ConsoleView
from palimpsest.terminal.render import one_line
from palimpsest.terminal.rendering import code, plain
from palimpsest.wire.areas.tools import ApprovalAnswer, ApprovalRequestParams

_TITLE_COLUMNS: Final = 12
"""With less room, what is asked is left out beside the choices."""


@dataclass(slots=True)
class _Question:
    asked: ApprovalRequestParams
    answer: asyncio.Future[ApprovalAnswer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    shown_s: float | None = None
    """When it was shown, by the loop's clock; None: not yet."""

    @property
    def can_be_read(self) -> bool:
        return self.shown_s is not None and asyncio.get_running_loop().time() - self.shown_s >= READING_S


class Approvals:
    """The open questions, of which the oldest is on the screen."""

    def __init__(self, view: ConsoleView) -> None:
        self._view = view
        self._screen = view.screen
        self._open: list[_Question] = []

    @property
    def is_asking(self) -> bool:
        return bool(self._open)

    async def ask(self, asked: ApprovalRequestParams) -> ApprovalAnswer:
        """The user's answer. Cancel this when the question is no longer asked."""
        question = _Question(asked)
        self._open.append(question)
        self._show_first()
        try:
            answer = await question.answer
            self._screen.print(Text(f"  {texts.ANSWERED[answer.value]}", "note"), goes_on=True)
            return answer
        except asyncio.CancelledError:
            if question.shown_s is not None:
                self._screen.print(Text(f"  {texts.QUESTION_GONE}", "note"), goes_on=True)
            raise
        finally:
            self._open.remove(question)
            self._show_first()

    def take(self, line: str) -> bool:
        """Whether the line is an answer to the oldest question, which it then settles. One that was entered before that
        question could be read was for another, and settles nothing."""
        if not self._open:
            return False
        question = self._open[0]
        answer = answer_of(line, question.asked)
        if answer is not None and question.can_be_read:
            self._settle(question, answer)
        elif answer is not None and not question.answer.done():
            self._screen.print(Text(f"  {texts.TOO_EARLY}", "note"), goes_on=True)
        return answer is not None

    def deny(self) -> bool:
        """Answer the oldest question with no; False when there is none."""
        if self._open:
            self._settle(self._open[0], ApprovalAnswer.DENY)
        return bool(self._open)

    def line(self, width: int) -> RenderableType:
        """What is asked, as far as there is room for it, and the choices: the question itself may have scrolled
        away."""
        asked = self._open[0].asked
        line = Text()
        if self._open[0].can_be_read:
            self._add_choices(line, asked)
        title = Text(f"? {one_line(asked.title)}", "question")
        room = width - line.cell_len - 2
        title.truncate(max(room, 0), overflow="ellipsis")
        return Text.assemble(title, "  ", line) if room >= _TITLE_COLUMNS else Text.assemble(("? ", "question"), line)

    @staticmethod
    def _add_choices(line: Text, asked: ApprovalRequestParams) -> None:
        for key, meaning in texts.CHOICES:
            if key != "a" or asked.may_be_always:
                line.append(key, "key").append(f" {meaning}  ", "note")
        line.append(texts.THEN_ENTER, "note")

    def _settle(self, question: _Question, answer: ApprovalAnswer) -> None:
        if not question.answer.done():
            question.answer.set_result(answer)

    def _show_first(self) -> None:
        if self._open and self._open[0].shown_s is None:
            question = self._open[0]
            question.shown_s = asyncio.get_running_loop().time()
            asked = question.asked
            shown = sanitise(asked.shown)
            self._view.settle()
            self._screen.print(
                Group(
                    Text(sanitise(asked.title), "question"),
                    Padding(code(shown, "diff") if _is_diff(shown) else plain(shown), (0, 0, 0, 2)),
                    Padding(plain(texts.applies(asked.may_be_always, asked.covers), "note"), (0, 0, 0, 2)),
                ),
                is_apart=True,
            )
        self._screen.redraw()


def _is_diff(text: str) -> bool:
    return text.startswith(("--- ", "diff ")) or "\n@@ " in text
