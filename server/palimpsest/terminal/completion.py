"""Completes what is typed: commands and their names of models and conversations, and files behind an `@`."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Iterable

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from palimpsest.terminal import texts
from palimpsest.terminal.commands import Commands
from palimpsest.terminal.errors import TerminalError
from palimpsest.terminal.render import local_time, one_line
from palimpsest.terminal.session import Session
from palimpsest.wire.areas.commands import MentionKind
from palimpsest.wording import counted

_RESUMING = ("/resume", "/open")


class ChatCompleter(Completer):
    """Completes from what the server knows. When it fails, there is nothing, and running the line shows the error."""

    def __init__(self, session: Session, commands: Commands) -> None:
        self._session = session
        self._commands = commands

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Nothing: what there is comes from the server, which is asynchronous."""
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        before = document.text_before_cursor
        command, blank, typed = before.partition(" ")
        try:
            if command.startswith("/") and not blank:
                found = self._slash(command)
            elif command.lower() == "/model":
                found = self._models(typed)
            elif command.lower() in _RESUMING:
                found = self._conversations(typed)
            else:
                found = self._mentions(before)
            async for completion in found:
                yield completion
        except TerminalError:
            return

    async def _slash(self, command: str) -> AsyncGenerator[Completion, None]:
        for name, (usage, help_) in (await self._commands.known()).items():
            if f"/{name}".startswith(command.lower()):
                yield Completion(f"/{name}", -len(command), display=usage, display_meta=help_)

    async def _models(self, typed: str) -> AsyncGenerator[Completion, None]:
        for name in await self._session.model_names():
            if name.startswith(typed):
                yield Completion(name, -len(typed))

    async def _conversations(self, typed: str) -> AsyncGenerator[Completion, None]:
        found = await self._session.conversations()
        titles = Counter(one_line(each.title).casefold() for each in found)
        for each in found:
            title = one_line(each.title)
            if typed.casefold() not in title.casefold() and not each.conversation_id.startswith(typed):
                continue
            is_clear = title and titles[title.casefold()] == 1
            about = f"{counted(each.message_count, 'message')}, {local_time(each.updated_at)}"
            yield Completion(
                title if is_clear else each.conversation_id,
                -len(typed),
                display=title or texts.UNTITLED,
                display_meta=about,
            )

    async def _mentions(self, before: str) -> AsyncGenerator[Completion, None]:
        found = await self._session.mentions(before)
        if not found.items:
            return
        # Positions in the protocol count UTF-16 code units.
        start = len(before.encode("utf-16-le")[: 2 * found.start].decode("utf-16-le", "ignore"))
        for item in found.items:
            if item.kind is not MentionKind.COMMAND:
                label, detail = one_line(item.label), one_line(item.detail)
                yield Completion(item.insert_text, start - len(before), display=label, display_meta=detail)
