"""The conversations that a client has opened, and the state of each at the client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from acp import schema

from palimpsest.acp_agent.outbox import Outbox
from palimpsest.acp_agent.permissions import AskingClient
from palimpsest.acp_agent.updates import TurnUpdates, note
from palimpsest.domain.command_names import CommandName
from palimpsest.domain.conversation.record import ConversationRecord
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.services.chat.commands.table import COMMANDS
from palimpsest.services.chat.own_commands import commands_of
from palimpsest.services.context.reports import usage_status
from palimpsest.services.folder.folders import Folders
from palimpsest.services.folder.session import FolderSession

MODEL_OPTION = "model"
NOT_OFFERED = frozenset({CommandName.NEW, CommandName.FORK, CommandName.RETRY, CommandName.CONTINUE})
"""Commands that lead to another conversation, or to an answer without a prompt."""


@dataclass(slots=True)
class OpenConversation:
    """One session of the protocol."""

    id: ConversationId
    root: Path
    outbox: Outbox
    blank: ConversationRecord | None = None
    """The conversation while it has no messages; None afterwards. Clients start a session for each window, so it is
    stored with its first message only, to keep empty ones out of lists."""
    prompts: set[asyncio.Task[Any]] = field(default_factory=set)
    """The prompts that are being answered."""
    followed: TurnId | None = None
    """Shows a turn that was running when the client loaded the conversation."""
    following: asyncio.Task[None] | None = None
    told_model: str | None = None
    told_title: str | None = None


@dataclass(slots=True)
class Sessions:
    """The sessions of one client."""

    client: Any
    folders: Folders
    turns: dict[TurnId, TurnUpdates] = field(default_factory=dict)
    """The turns that are being shown."""
    _open: dict[ConversationId, OpenConversation] = field(default_factory=dict)
    _detach: dict[Path, Callable[[], None]] = field(default_factory=dict)
    _noted: set[Path] = field(default_factory=set)
    """Folders whose notes about settings were shown."""
    _greetings: set[asyncio.Task[None]] = field(default_factory=set)
    has_left: bool = False
    """Whether the client has left."""

    def outbox(self, conversation_id: ConversationId) -> Outbox | None:
        opened = self._open.get(conversation_id)
        return None if opened is None else opened.outbox

    def turn(self, turn_id: TurnId) -> TurnUpdates | None:
        return self.turns.get(turn_id)

    def get(self, session_id: str) -> OpenConversation:
        """Raises NotFound."""
        opened = self._open.get(ConversationId(session_id))
        if opened is None:
            raise NotFound(f"The session {session_id!r} is not open. Load it, or start another one.")
        return opened

    def roots(self) -> list[Path]:
        """The used folders, in order."""
        return list(self._detach)

    async def folder(self, cwd: str) -> FolderSession:
        """The folder of a session. Raises InvalidRequest, NotFound or StoreError."""
        if "\0" in cwd or not Path(cwd).is_absolute():
            raise InvalidRequest("The folder of a session (cwd) must be an absolute path.")
        return await self.session(await asyncio.to_thread(Path(cwd).resolve))

    async def session(self, root: Path) -> FolderSession:
        """The session of a resolved folder, by its current settings."""
        session = await self.folders.get(root)
        if root not in self._detach:
            self._detach[root] = session.folder.editors.attach(AskingClient(self.client, self))
        return session

    def open(self, conversation_id: ConversationId, root: Path) -> OpenConversation:
        """Open a conversation for the client. Opening again changes nothing."""
        if conversation_id not in self._open:
            outbox = Outbox(self.client, conversation_id)
            if self.has_left:
                outbox.lose()
            self._open[conversation_id] = OpenConversation(conversation_id, root, outbox)
        return self._open[conversation_id]

    def greet(self, opened: OpenConversation, session: FolderSession) -> None:
        """Send the commands, the usage and, once per folder, the notes about its settings, as soon as the request that
        opened the conversation is answered: before, the client does not know the session."""
        notes = () if session.folder.root in self._noted else session.notes
        self._noted.add(session.folder.root)

        async def tell() -> None:
            await asyncio.sleep(0)
            for sentence in notes:
                opened.outbox.put(note(sentence))
            opened.outbox.put(await _commands(session))
            await self.tell_state(opened)

        task = asyncio.create_task(tell(), name="greeting")
        self._greetings.add(task)
        task.add_done_callback(_forget(self._greetings))

    async def tell_state(self, opened: OpenConversation) -> None:
        """Send the usage, and title and model when the client does not know them."""
        if opened.blank is not None:
            return
        session = await self.session(opened.root)
        report = await usage_status(session.contexts, opened.id)
        used, size = max(0, report.usage.used_tokens), max(0, report.usage.budget_tokens)
        opened.outbox.put(schema.UsageUpdate(session_update="usage_update", used=used, size=size))
        record = (await session.conversations.read(opened.id, None, 1)).record
        if record.title and record.title != opened.told_title:
            opened.told_title = record.title
            opened.outbox.put(
                schema.SessionInfoUpdate(
                    session_update="session_info_update", title=record.title, updated_at=record.updated_at
                )
            )
        if opened.told_model not in (None, record.model):
            options = model_options(session, record.model)
            opened.outbox.put(schema.ConfigOptionUpdate(session_update="config_option_update", config_options=options))
        opened.told_model = record.model
        await opened.outbox.flush()

    async def switch_model(self, opened: OpenConversation, session: FolderSession, name: str) -> str:
        """Switch the model. Returns its name. Raises NotFound or ConversationBusy."""
        if opened.blank is None:
            chosen = (await session.conversations.switch_model(opened.id, name)).model
        else:
            models = session.contexts.models
            chosen = models.get(name)
            models.provider(chosen)
            opened.blank = replace(opened.blank, model=chosen.name)
        return chosen.name

    def leave(self) -> None:
        """Stop waiting for the client, which has left."""
        self.has_left = True
        for opened in self._open.values():
            opened.outbox.lose()

    async def close(self) -> None:
        """Wait for the ends of tasks. Call it after `leave`; turns are stopped with the folders."""
        for detach in self._detach.values():
            detach()
        tasks: list[asyncio.Task[None]] = [*self._greetings]
        tasks += [opened.following for opened in self._open.values() if opened.following is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def model_options(session: FolderSession, current: str) -> list[Any]:
    """The only option of a session: its model, among the available ones."""
    names = [choice.model.name for choice in session.contexts.models.choices() if choice.is_available]
    options = [schema.SessionConfigSelectOption(value=name, name=name) for name in dict.fromkeys([current, *names])]
    return [
        schema.SessionConfigOptionSelect(
            id=MODEL_OPTION, name="Model", category="model", type="select", current_value=current, options=options
        )
    ]


async def _commands(session: FolderSession) -> Any:
    """The commands for the client, without those that it does itself, and those of the user's own."""
    offered = [
        (command.name.value, command.help, command.argument) for command in COMMANDS if command.name not in NOT_OFFERED
    ]
    own = (await commands_of(session.folder)).by_name.values()
    offered += [(each.name, each.description, each.argument or "[TEXT]" * each.takes_arguments) for each in own]
    commands = [
        schema.AvailableCommand(name=name, description=said, input=_input(argument) if argument else None)
        for name, said, argument in offered
    ]
    return schema.AvailableCommandsUpdate(session_update="available_commands_update", available_commands=commands)


def _input(hint: str) -> Any:
    return schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint=hint))


def _forget(tasks: set[asyncio.Task[None]]) -> Callable[[asyncio.Task[None]], None]:
    """Also retrieves the exception of an ended task: sending may fail after the client has left."""

    def forget(task: asyncio.Task[None]) -> None:
        tasks.discard(task)
        if not task.cancelled():
            task.exception()

    return forget
