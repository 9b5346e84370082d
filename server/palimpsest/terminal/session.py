"""The current conversation of the terminal, and its turns.

A conversation is created by its first message, so that looking around leaves no empty conversations behind.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncGenerator
from typing import Generic, Protocol, TypeVar

from palimpsest.terminal import texts
from palimpsest.terminal.calls import EDIT_TOOL, Call, Event, ServerNote
from palimpsest.terminal.connection import Connection
from palimpsest.terminal.errors import TerminalError
from palimpsest.terminal.render import View
from palimpsest.wire.areas.adoption import (
    AdoptionAction,
    AdoptionResult,
    LeftBehind,
    ListAdoptionParams,
    ListAdoptionResult,
    ResolveAdoptionParams,
)
from palimpsest.wire.areas.commands import (
    CompleteMentionsParams,
    CompleteMentionsResult,
    MentionItem,
    RunCommandParams,
    RunCommandResult,
)
from palimpsest.wire.areas.conversations import (
    ConversationInfo,
    ListConversationsParams,
    ListConversationsResult,
    MessageInfo,
    MessageRole,
    ReadConversationParams,
    ReadConversationResult,
)
from palimpsest.wire.areas.models import ListModelsParams, ListModelsResult
from palimpsest.wire.areas.turns import (
    AttachParams,
    CancelParams,
    CancelResult,
    ChatParams,
    ChatResult,
    DeltaType,
    TurnDelta,
)
from palimpsest.wire.areas.usage import ContextUsage, UsageParams

_NEWEST = 50
"""The least number of messages that are read as the newest."""

T_co = TypeVar("T_co", covariant=True)


class Followed(Protocol, Generic[T_co]):
    """A running call or turn."""

    def events(self) -> AsyncGenerator[Event, None]: ...
    async def result(self) -> T_co: ...


async def follow(view: View, followed: Followed[T_co]) -> T_co:
    """Show the events until the result comes, and return it."""
    try:
        async with contextlib.aclosing(followed.events()) as events:
            async for event in events:
                view.show(event)
    finally:
        view.finish()
    return await followed.result()


class Turn:
    """A running turn. It sets the session's conversation, which is unknown before the first message."""

    def __init__(self, session: Session, call: Call[ChatResult], turn_id: str | None = None) -> None:
        self._session = session
        self._call = call
        self._turn_id = turn_id
        """None until the server names the turn of a message."""
        self._n_edits = 0

    async def events(self) -> AsyncGenerator[Event, None]:
        async with contextlib.aclosing(self._call.events()) as events:
            async for event in events:
                if isinstance(event, TurnDelta) and event.type is DeltaType.TURN:
                    self._turn_id = event.turn_id
                    self._session.conversation_id = event.conversation_id or self._session.conversation_id
                yield event
                if isinstance(event, TurnDelta) and event.type is DeltaType.TOOL_RESULT and event.name == EDIT_TOOL:
                    self._n_edits += not event.is_error
        if self._n_edits:
            yield ServerNote(texts.edited(self._n_edits))

    async def result(self) -> ChatResult:
        result = await self._call.result()
        self._session.conversation_id = result.conversation_id
        return result

    async def cancel(self) -> None:
        """Ask the turn to end. `result` then returns, or raises the error."""
        if self._turn_id is None:
            self._call.cancel()
            return
        with contextlib.suppress(TerminalError):
            await self._session.connection.request("palimpsest/turn/cancel", CancelParams(self._turn_id), CancelResult)


class Session:
    """A folder's conversations, one of which is current."""

    def __init__(self, connection: Connection, folder: str) -> None:
        self.connection = connection
        self.folder = folder
        """Its URI."""
        self.conversation_id: str | None = None
        """None: the next message creates a conversation."""
        self.seen_question = -1
        """The id of the newest message of a user that is known to who sits here."""
        self._models: ListModelsResult | None = None
        self.models_problem = ""
        """Why the models could not be listed, such as a setting that names none; empty when they could, or were not."""

    async def usage(self, conversation_id: str) -> ContextUsage:
        return await self.connection.request("palimpsest/usage", UsageParams(conversation_id), ContextUsage)

    async def conversations(self) -> list[ConversationInfo]:
        """The folder's conversations, the last changed first."""
        params = ListConversationsParams(self.folder)
        found = await self.connection.request("palimpsest/conversation/list", params, ListConversationsResult)
        return found.conversations

    def chat(self, text: str) -> Turn:
        """Send a message to the current conversation, or to a new one."""
        params = ChatParams(
            request_id=str(uuid.uuid4()),
            text=text,
            conversation_id=self.conversation_id,
            folder=self.folder if self.conversation_id is None else None,
            partial_result_token=str(uuid.uuid4()),
            work_done_token=str(uuid.uuid4()),
        )
        return Turn(self, self.connection.call("palimpsest/chat", params, ChatResult))

    async def newest_question(self) -> MessageInfo | None:
        """The user's newest message of the current conversation, whoever wrote it; None when there is none."""
        messages = await self.newest_messages()
        return next((each for each in reversed(messages) if each.role is MessageRole.USER), None)

    async def newest_messages(self) -> list[MessageInfo]:
        """The last messages of the current conversation, oldest first; empty when there is none."""
        if self.conversation_id is None:
            return []
        count = (await self._read(0, 1)).conversation.message_count
        return (await self._read(max(0, count - _NEWEST), 2 * _NEWEST)).messages

    async def conversation(self) -> ConversationInfo | None:
        """The current conversation; None when there is none."""
        return None if self.conversation_id is None else (await self._read(0, 1)).conversation

    async def _read(self, start: int, limit: int) -> ReadConversationResult:
        params = ReadConversationParams(self.conversation_id or "", start, limit)
        return await self.connection.request("palimpsest/conversation/read", params, ReadConversationResult)

    def attach(self, turn_id: str) -> Call[ChatResult]:
        """Follow a running turn from its beginning. To stop following does not stop the turn."""
        params = AttachParams(turn_id, partial_result_token=str(uuid.uuid4()))
        return self.connection.call("palimpsest/turn/attach", params, ChatResult)

    def started(self, turn_id: str) -> Turn:
        """Follow a turn that this client started by a command."""
        return Turn(self, self.attach(turn_id), turn_id)

    def run_command(self, text: str) -> Call[RunCommandResult]:
        """Run a slash command on the server."""
        params = RunCommandParams(text, self.conversation_id, None if self.conversation_id else self.folder)
        return self.connection.call("palimpsest/command/run", params, RunCommandResult)

    async def commands(self) -> list[MentionItem]:
        """The server's slash commands, in the order in which it shows them, as the user's own files are now."""
        params = CompleteMentionsParams("/", 1, folder_uri=self.folder)
        found = await self.connection.request("palimpsest/mentions/complete", params, CompleteMentionsResult)
        return found.items

    async def mentions(self, text: str) -> CompleteMentionsResult:
        """What completes the mention of a file at the end of a text."""
        params = CompleteMentionsParams(
            text,
            len(text.encode("utf-16-le")) // 2,
            self.conversation_id,
            None if self.conversation_id else self.folder,
        )
        return await self.connection.request("palimpsest/mentions/complete", params, CompleteMentionsResult)

    async def left_behind(self) -> list[LeftBehind]:
        """The stores of moved folders whose conversations can be copied here."""
        params = ListAdoptionParams(self.folder)
        return (await self.connection.request("palimpsest/adoption/list", params, ListAdoptionResult)).stores

    async def adopt(self, left: LeftBehind, action: AdoptionAction) -> AdoptionResult:
        params = ResolveAdoptionParams(left.folder_uri, left.store, action)
        return await self.connection.request("palimpsest/adoption/resolve", params, AdoptionResult)

    async def model_names(self) -> list[str]:
        """The names that complete `/model`. Requested once; empty when the server fails."""
        return [model.name for model in (await self._known_models()).models]

    async def default_model(self) -> str:
        """The model of new conversations; empty when it is not known."""
        return next((model.name for model in (await self._known_models()).models if model.is_default), "")

    async def silent_services(self) -> str:
        """What to do about the services that are set up and named no model; empty when there are none."""
        return " ".join((await self._known_models()).silent or ())

    async def _known_models(self) -> ListModelsResult:
        if self._models is None:
            try:
                self._models = await self.connection.request(
                    "palimpsest/model/list", ListModelsParams(), ListModelsResult
                )
            except TerminalError as error:
                self.models_problem = str(error)
        return self._models or ListModelsResult([])
