"""The requests of the Agent Client Protocol, each answered by one call of a service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

import acp
from acp import schema

from palimpsest.__about__ import __version__
from palimpsest.acp_agent.answering import StopReason, answer
from palimpsest.acp_agent.errors import answers
from palimpsest.acp_agent.loading import show
from palimpsest.acp_agent.sessions import MODEL_OPTION, Sessions, model_options
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId
from palimpsest.services.folder.folders import Folders

PAGE: Final = 100
"""The most sessions in one answer to `session/list`."""


class ConversationAgent:
    """One connection. Its methods have the names and parameters that the package `acp` calls."""

    def __init__(self, load_folders: Callable[[], Folders]) -> None:
        """`load_folders` is called once, on a thread, after `initialize`."""
        self._load_folders = load_folders
        self._loading: asyncio.Task[Sessions] | None = None
        self._client: Any = None

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def _sessions(self) -> Sessions:
        if self._loading is None or (self._loading.done() and self._loading.exception() is not None):
            self._loading = asyncio.create_task(self._load())
        return await asyncio.shield(self._loading)

    async def _load(self) -> Sessions:
        return Sessions(self._client, await asyncio.to_thread(self._load_folders))

    def leave(self) -> None:
        """Stop the output to the client, which has left or is about to be left."""
        loading = self._loading
        if loading is not None and loading.done() and not loading.cancelled() and loading.exception() is None:
            loading.result().leave()

    async def close(self) -> None:
        """Stop everything that runs, keep partial answers, and close the folders."""
        if self._loading is None:
            return
        try:
            sessions = await self._loading
        except Exception:
            return  # the client has the error
        sessions.leave()
        await sessions.close()
        await sessions.folders.close()

    @answers
    async def initialize(self, protocol_version: int, **_: Any) -> Any:
        self._loading = self._loading or asyncio.create_task(self._load())
        self._loading.add_done_callback(lambda task: task.cancelled() or task.exception())
        return schema.InitializeResponse(
            protocol_version=min(protocol_version, acp.PROTOCOL_VERSION),
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                prompt_capabilities=schema.PromptCapabilities(embedded_context=True),
                session_capabilities=schema.SessionCapabilities(list=schema.SessionListCapabilities()),
            ),
            agent_info=schema.Implementation(name="palimpsest", title="Palimpsest", version=__version__),
            auth_methods=[],
        )

    @answers
    async def new_session(self, cwd: str, **_: Any) -> Any:
        sessions = await self._sessions()
        await sessions.folders.look_for_keys()
        session = await sessions.folder(cwd)
        record = session.conversations.blank()
        opened = sessions.open(record.id, session.folder.root)
        opened.blank, opened.told_model = record, record.model
        sessions.greet(opened, session)
        return schema.NewSessionResponse(session_id=record.id, config_options=model_options(session, record.model))

    @answers
    async def load_session(self, cwd: str, session_id: str, **_: Any) -> Any:
        sessions = await self._sessions()
        session = await sessions.folder(cwd)
        conversation_id = ConversationId(session_id)
        if not await session.conversations.holds(conversation_id):
            raise NotFound(
                f"There is no conversation {session_id!r} in {session.folder.root}. List them and choose one."
            )
        opened = sessions.open(conversation_id, session.folder.root)
        await show(sessions, session, opened)
        sessions.greet(opened, session)
        record = (await session.conversations.read(conversation_id, None, 1)).record
        return schema.LoadSessionResponse(config_options=model_options(session, record.model))

    @answers
    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> Any:
        """The sessions of a folder, or of all used folders; the last changed first."""
        sessions = await self._sessions()
        if cwd is None:
            folders = [await sessions.session(root) for root in sessions.roots()]
        else:
            folders = [await sessions.folder(cwd)]
        found = [
            schema.SessionInfo(
                session_id=record.id,
                cwd=str(each.folder.root),
                title=record.title or None,
                updated_at=record.updated_at,
            )
            for each in folders
            for record, _running in await each.conversations.list()
            if record.n_messages and not record.is_archived
        ]
        found.sort(key=lambda info: info.updated_at or "", reverse=True)
        start = _offset(cursor)
        after = start + PAGE
        return schema.ListSessionsResponse(
            sessions=found[start:after], next_cursor=str(after) if after < len(found) else None
        )

    @answers
    async def set_config_option(self, config_id: str, session_id: str, value: str | bool, **_: Any) -> Any:
        if config_id != MODEL_OPTION or not isinstance(value, str):
            raise InvalidRequest(f"There is no option {config_id!r} with such a value. The only option is the model.")
        sessions = await self._sessions()
        await sessions.folders.look_for_keys()
        opened = sessions.get(session_id)
        session = await sessions.session(opened.root)
        opened.told_model = await sessions.switch_model(opened, session, value)
        await sessions.tell_state(opened)  # the budget has changed
        return schema.SetSessionConfigOptionResponse(config_options=model_options(session, opened.told_model))

    @answers
    async def prompt(self, session_id: str, prompt: Sequence[Any], **_: Any) -> Any:
        sessions = await self._sessions()
        await sessions.folders.look_for_keys()
        opened = sessions.get(session_id)
        task = asyncio.create_task(answer(sessions, opened, prompt), name=f"prompt in {session_id}")
        opened.prompts.add(task)
        try:
            reason = await task
        except asyncio.CancelledError:
            this = asyncio.current_task()
            if this is not None and this.cancelling():
                raise  # the connection has ended
            reason = StopReason.CANCELLED
        finally:
            opened.prompts.discard(task)
        return schema.PromptResponse(stop_reason=reason.value)

    async def cancel(self, session_id: str, **_: Any) -> None:
        sessions = await self._sessions()
        try:
            opened = sessions.get(session_id)
        except NotFound:
            return  # a notification has no answer
        for task in opened.prompts:
            task.cancel()
        if not opened.prompts and opened.followed is not None:
            session = await sessions.session(opened.root)
            turn = session.folder.running.get(opened.followed)
            if turn is not None:
                turn.cancel()
            else:
                await session.folder.following.cancel(opened.followed)


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 10):
        raise InvalidRequest("This cursor is unknown. List from the beginning.")
    return int(cursor)
