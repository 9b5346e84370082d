"""The screen of a chat: what is finished scrolls away above, and below it the part that changes is drawn anew.

From top to bottom, the changing part is: the block of the answer that grows, the line that says what is waited for,
messages that wait, the input, and a line of hints. Keys are read all the time, so typing is always seen.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer, DynamicCompleter
from prompt_toolkit.filters import Condition, has_focus
from prompt_toolkit.formatted_text import ANSI, StyleAndTextTuples, to_formatted_text
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyBindingsBase, KeyPressEvent, merge_key_bindings
from prompt_toolkit.key_binding.bindings.open_in_editor import load_open_in_editor_bindings
from prompt_toolkit.layout import (
    BufferControl,
    CompletionsMenu,
    ConditionalContainer,
    Dimension,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.processors import BeforeInput, ConditionalProcessor
from prompt_toolkit.output import ColorDepth, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar
from rich.console import RenderableType

from palimpsest.terminal.rendering import Painter

_MENU_ROWS: Final = 12
"""The most lines of the menu of completions, which scrolls."""
_INPUT_ROWS: Final = 10
"""The most lines of the input, which scrolls."""
_TICK_S: Final = 0.1
"""How often the line that says what is waited for moves."""
_REDRAW_S: Final = 0.03
"""The least time between two drawings of the changing part."""
_STYLE: Final = Style.from_dict(
    {
        "prompt": "bold ansicyan",
        "placeholder": "dim",
        "hint": "dim",
        "completion-menu": "noinherit",
        "completion-menu.completion": "noinherit",
        "completion-menu.completion.current": "noinherit reverse",
        "completion-menu.meta.completion": "noinherit dim",
        "completion-menu.meta.completion.current": "noinherit reverse",
        "scrollbar.background": "noinherit",
        "scrollbar.button": "noinherit reverse",
    }
)


class Screen:
    """Shows what it is given, and reads lines. Enter it to begin.

    `on_line` gets each text that was entered. `on_break` is called for Ctrl-C, and for Escape while something runs;
    `on_end` for Ctrl-D on an empty input, and when the terminal is gone.
    """

    def __init__(self, history: History, completer: Callable[[], Completer]) -> None:
        self.painter = Painter()
        self.on_line: Callable[[str], None] = lambda line: None
        self.on_break: Callable[[], None] = lambda: None
        self.on_end: Callable[[], None] = lambda: None
        self.growing: Callable[[int, int], str] = lambda width, rows: ""
        """The painted block that grows, for so many columns and about so many rows; empty when there is none."""
        self.state: Callable[[int], list[RenderableType]] = lambda width: []
        """The lines between that block and the input."""
        self.placeholder: Callable[[], str] = lambda: ""
        """What stands in the input while it is empty."""
        self.hint: Callable[[], str] = lambda: ""
        """The line below the input."""
        self.is_busy: Callable[[], bool] = lambda: False
        self.has_printed = False
        self._was_apart = False
        self.is_gone = False
        """Whether the terminal is gone, or its input has ended."""
        self.buffer = Buffer(
            name="input",
            completer=DynamicCompleter(completer),
            complete_while_typing=Condition(lambda: self._completes()),
            history=history,
            multiline=True,
            accept_handler=self._accept,
        )
        output = create_output()
        if isinstance(output, Vt100_Output):
            # Nothing here depends on where the cursor is, and some terminals do not tell.
            output.enable_cpr = False
        self._app: Application[None] = Application(
            output=output,
            layout=self._layout(),
            key_bindings=self._bindings(),
            style=_STYLE,
            erase_when_done=True,
            min_redraw_interval=_REDRAW_S,
            color_depth=None if self.painter.has_color else ColorDepth.DEPTH_1_BIT,
        )
        # Alt-Enter is an escape and a return: a lone Escape is known after so long.
        self._app.ttimeoutlen = 0.2

    @contextlib.asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """The screen is shown in this block. Leaving it leaves what was printed."""
        started = asyncio.Event()
        running = asyncio.create_task(self._app.run_async(handle_sigint=False, pre_run=started.set))
        running.add_done_callback(lambda _: started.set())
        await started.wait()
        running.add_done_callback(lambda _: self._ended(running))
        ticking = asyncio.create_task(self._tick())
        try:
            yield
        finally:
            ticking.cancel()
            if self._app.is_running:
                self._app.exit()
            with contextlib.suppress(EOFError, OSError, KeyboardInterrupt):
                await running

    @property
    def width(self) -> int:
        """The columns to use; the last one stays free, because some terminals wrap a line that fills it."""
        return max(self._app.output.get_size().columns - 1, 8)

    def print(self, what: RenderableType, *, is_apart: bool = False, goes_on: bool = False) -> None:
        """Show something for good, above the changing part.

        `is_apart`: with an empty line before and behind it; `goes_on`: without one, as a part of what was shown last.
        """
        painted = self.painter.paint(what, self.width)
        if not painted:
            return
        needs_gap = self.has_printed and not goes_on and (is_apart or self._was_apart)
        lines = ([""] if needs_gap else []) + painted.split("\n")
        self._was_apart = is_apart or (goes_on and self._was_apart)
        self.has_printed = True
        output = self._app.output
        if self._app.is_running:
            self._app.renderer.erase()
        output.write_raw("".join(f"{line}\r\n" for line in lines))
        output.flush()
        self.redraw()

    def redraw(self) -> None:
        """Draw the changing part anew, soon."""
        if self._app.is_running:
            self._app.invalidate()

    def clear_input(self) -> None:
        self.buffer.reset()

    def put_back(self, text: str) -> None:
        """Put text before what is typed."""
        if text:
            self.buffer.text = "\n".join(filter(None, (text, self.buffer.text)))
            self.buffer.cursor_position = len(self.buffer.text)

    # --------------------------------------------------------------------------------------------------------- drawing

    def _layout(self) -> Layout:
        is_empty = Condition(lambda: not self.buffer.text)
        search = SearchToolbar()
        above = Window(FormattedTextControl(self._above), dont_extend_height=True, wrap_lines=False)
        typed = Window(
            BufferControl(
                self.buffer,
                input_processors=[ConditionalProcessor(BeforeInput(self._placeholder), is_empty)],
                search_buffer_control=search.control,
                preview_search=True,
            ),
            height=lambda: Dimension(min=1, max=min(_INPUT_ROWS, max(1, self._rows() // 3))),
            dont_extend_height=True,
            wrap_lines=True,
            get_line_prefix=lambda line, wrapped: [("class:prompt", "> " if line == wrapped == 0 else "  ")],
        )
        below = Window(FormattedTextControl(self._below), height=1, dont_extend_height=True, wrap_lines=False)
        room = ConditionalContainer(
            Window(height=Dimension(min=0, preferred=_MENU_ROWS)),
            Condition(lambda: self.buffer.complete_state is not None),
        )
        body = HSplit([above, typed, search, below, room])
        menu = Float(
            CompletionsMenu(max_height=_MENU_ROWS, scroll_offset=1), xcursor=True, ycursor=True, transparent=True
        )
        return Layout(FloatContainer(body, [menu]), focused_element=typed)

    def _above(self) -> StyleAndTextTuples:
        width, rows = self.width, self._rows()
        state = [self.painter.paint(each, width) for each in self.state(width)]
        lines = [line for each in state for line in each.split("\n")]
        room = max(rows - len(lines) - min(_INPUT_ROWS, self.buffer.document.line_count) - 3, 1)
        grown = self.growing(width, room)
        block = grown.split("\n")[-room:] if grown else []
        shown = ([""] if self.has_printed else []) + block
        shown += ([""] if block and lines else []) + lines
        return to_formatted_text(ANSI("\n".join(shown)))

    def _below(self) -> StyleAndTextTuples:
        # The menu of completions is drawn over this line.
        return [("class:hint", "" if self.buffer.complete_state is not None else "  " + self.hint())]

    def _placeholder(self) -> StyleAndTextTuples:
        return [("class:placeholder", self.placeholder()[: max(self.width - 2, 0)])]

    def _rows(self) -> int:
        return self._app.output.get_size().rows

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            if self.is_busy():
                self.redraw()

    def _ended(self, running: asyncio.Task[None]) -> None:
        if not running.cancelled() and running.exception() is not None:
            self.is_gone = True
            self.on_end()

    # ----------------------------------------------------------------------------------------------------------- keys

    def _completes(self) -> bool:
        before = self.buffer.document.text_before_cursor
        return before.startswith("/") or "@" in before.rpartition(" ")[2]

    def _accept(self, buffer: Buffer) -> bool:
        self.on_line(buffer.text)
        return False

    def _bindings(self) -> KeyBindingsBase:
        bindings = KeyBindings()
        menu_is_open = Condition(lambda: self.buffer.complete_state is not None)
        is_empty = Condition(lambda: not self.buffer.text)

        @bindings.add("enter", filter=has_focus(self.buffer))
        def _(event: KeyPressEvent) -> None:
            """Send. Behind a backslash, start a new line; on a file that is chosen in the menu, take it."""
            state = self.buffer.complete_state
            if state is not None and state.current_completion is not None and not self.buffer.text.startswith("/"):
                self.buffer.complete_state = None
            elif self.buffer.document.char_before_cursor == "\\":
                self.buffer.delete_before_cursor()
                self.buffer.insert_text("\n")
            else:
                self.buffer.validate_and_handle()

        @bindings.add("escape", "enter")
        @bindings.add("c-j")
        def _(event: KeyPressEvent) -> None:
            """Start a new line in the message."""
            self.buffer.insert_text("\n")

        @bindings.add("tab")
        def _(event: KeyPressEvent) -> None:
            """Complete, or go to the next completion."""
            if self.buffer.complete_state:
                self.buffer.complete_next()
            else:
                self.buffer.start_completion(insert_common_part=True)

        @bindings.add("s-tab", filter=menu_is_open)
        def _(event: KeyPressEvent) -> None:
            self.buffer.complete_previous()

        @bindings.add("escape", filter=menu_is_open)
        def _(event: KeyPressEvent) -> None:
            self.buffer.cancel_completion()

        @bindings.add("escape", filter=~menu_is_open & Condition(lambda: self.is_busy()))
        @bindings.add("c-c")
        def _(event: KeyPressEvent) -> None:
            self.on_break()

        @bindings.add("c-d", filter=is_empty)
        def _(event: KeyPressEvent) -> None:
            self.on_end()

        @bindings.add("c-z")
        def _(event: KeyPressEvent) -> None:
            event.app.suspend_to_background()

        return merge_key_bindings([bindings, load_open_in_editor_bindings()])
