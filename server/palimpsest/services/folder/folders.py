"""The workspace folders that are open in this process, each with its store and everything that works on it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest.domain.errors import InvalidRequest, NotFound, PalimpsestError, StoreError
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.models.editor_models import EditorModels
from palimpsest.services.models.keys import Keys


@dataclass(frozen=True, slots=True)
class EditorsWord:
    """What editors have said about a folder; of several that share a server, the last one counts."""

    is_trusted: bool | None = None
    """None: nothing. Then the user's own list of trusted folders counts."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """As they came; nobody has checked them."""


def _is_text(root: Path) -> bool:
    """Whether the path is text, and not bytes that Python could not read as such."""
    return not any("\ud800" <= character <= "\udfff" for character in str(root))


@dataclass(slots=True)
class Folders:
    """Opens each folder once, when it is first needed."""

    open_session: Callable[[Path, EditorsWord], Awaitable[FolderSession]]
    renew: Callable[[FolderSession, EditorsWord], Awaitable[FolderSession]]
    """The session by what is said and written now: the same one when nothing has changed."""
    shared: Sequence[Callable[[], Awaitable[None]]] = ()
    """Closes what the folders share, after the last of them."""
    has_store: Callable[[Path], bool] = lambda _: True
    """Whether anything was ever kept of a resolved folder."""
    keys: Keys | None = None
    """Of the services that all folders ask. None: keys cannot be set here."""
    editor_models: EditorModels | None = None
    """What editors offer to all folders. None: nothing is taken."""
    _sessions: dict[Path, asyncio.Future[FolderSession]] = field(default_factory=dict)
    _words: dict[Path, EditorsWord] = field(default_factory=dict)
    _homes: dict[ConversationId, Path] = field(default_factory=dict)
    """Where conversations that were asked for are kept: none ever leaves its folder."""
    _hearing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """What is said counts in the order it was said."""
    linger_s: float = 1.0
    """So long a folder stays open that nobody has any more: it may come back, and requests may be on their way."""
    _holders: dict[Path, set[object]] = field(default_factory=dict)
    """Who has each folder; one that nobody ever held stays open."""
    _leaving: dict[Path, asyncio.Task[None]] = field(default_factory=dict)
    """Waits until an unused folder can be closed."""
    _closing: dict[Path, asyncio.Task[None]] = field(default_factory=dict)

    def hold(self, root: Path, holder: object) -> None:
        """From now on `holder` has the resolved folder, open or not. Hold it before `get`: what nobody holds any more
        is closed."""
        self._holders.setdefault(root, set()).add(holder)

    def leave(self, root: Path, holder: object) -> None:
        """It has the folder no more. When nobody has, the folder is closed as soon as its turns have ended, and those
        of other servers that are followed here."""
        holders = self._holders.get(root, set())
        holders.discard(holder)
        if holders:
            return
        self._holders.pop(root, None)
        if root in self._sessions and root not in self._leaving:
            leaving = self._leaving[root] = asyncio.create_task(self._close_unused(root), name="close unused folder")
            leaving.add_done_callback(lambda _: self._leaving.pop(root, None))

    async def _close_unused(self, root: Path) -> None:
        """Unless somebody takes it up again. Between the last look and the closing nothing is waited for."""
        await asyncio.sleep(self.linger_s)
        while root not in self._holders and (opening := self._sessions.get(root)) is not None:
            await asyncio.wait({opening})
            session = None if self._opening(root) is None else opening.result()
            running = [] if session is None else [each.task for each in session.folder.running.values() if each.task]
            if running:
                await asyncio.wait(running)
            elif session is not None and session.folder.leases.is_held:
                await session.folder.leases.wait_until_free()
            elif session is not None and session.folder.following.is_followed:
                await session.folder.following.wait_until_free()
            elif root not in self._holders and self._sessions.get(root) is opening:
                self._close_session(root, session)

    def _close_session(self, root: Path, session: FolderSession | None) -> None:
        """Whoever asks for the folder from now on opens it anew, when this one is closed. `session`: None for one that
        could not be opened."""
        del self._sessions[root]
        self._homes = {each: home for each, home in self._homes.items() if home != root}
        if session is not None:
            closing = self._closing[root] = asyncio.create_task(session.folder.close(), name="close folder")
            closing.add_done_callback(lambda _: self._closing.pop(root, None))

    async def get(self, root: Path) -> FolderSession:
        """The session of a resolved folder. Raises NotFound, StoreError or InvalidRequest when it cannot be opened;
        the next call tries anew."""
        if (opening := self._opening(root)) is not None:
            try:
                session = await asyncio.shield(opening)
            except StoreError:
                opening = self._opening(root)  # it was begun before this call: what was in its way may be gone
            else:
                store = session.folder.store
                if not store.reads_until_writable or not await asyncio.to_thread(store.is_writable):
                    return session
                if self._opening(root) is opening:  # nobody did it meanwhile
                    self._close_session(root, session)
                opening = self._opening(root)
        if opening is None:
            opening = self._sessions[root] = asyncio.create_task(self._open(root))
        return await asyncio.shield(opening)

    async def is_known(self, root: Path) -> bool:
        """Whether anything is kept of a resolved folder: looking into it must not begin to."""
        return self._opening(root) is not None or await asyncio.to_thread(self.has_store, root)

    def _opening(self, root: Path) -> asyncio.Future[FolderSession] | None:
        """The session that is open or on its way; None when there is none, or it has failed."""
        opening = self._sessions.get(root)
        is_lost = opening is not None and opening.done() and (opening.cancelled() or opening.exception() is not None)
        return None if is_lost else opening

    async def _open(self, root: Path) -> FolderSession:
        if (closing := self._closing.get(root)) is not None:
            await asyncio.wait({closing})
        if not _is_text(root) or not await asyncio.to_thread(root.is_dir):
            if not _is_text(root) or "\N{REPLACEMENT CHARACTER}" in str(root):
                name = str(root).encode("utf-8", "replace").decode()
                raise InvalidRequest(
                    f"The folder {name} has a name that is not UTF-8 text, or lies in one, and such a folder cannot be "
                    "opened: neither editors nor models can say its name. Rename it, then open it again."
                )
            raise NotFound(f"The folder {root} does not exist. Open one that does.")
        return await self.open_session(root, self._words.get(root, EditorsWord()))

    async def hear(
        self, root: Path, *, is_trusted: bool | None = None, settings: Mapping[str, Any] | None = None
    ) -> FolderSession | None:
        """What an editor says about a resolved folder, open or not; None: nothing. The session when it is open, by
        which it counts from now on."""
        async with self._hearing:
            before = self._words.get(root, EditorsWord())
            word = self._words[root] = EditorsWord(
                before.is_trusted if is_trusted is None else is_trusted,
                before.settings if settings is None else settings,
            )
            if (opening := self._opening(root)) is None:
                return None
            try:
                session = await asyncio.shield(opening)
            except PalimpsestError:
                return None
            renewed = await self.renew(session, word)
            if self._sessions.get(root) is not opening:
                return None  # it was closed meanwhile
            if renewed is not session:
                self._sessions[root] = asyncio.get_running_loop().create_future()
                self._sessions[root].set_result(renewed)
            return renewed

    async def hear_again(self) -> None:
        """Something that is about no folder has changed, such as a key: it counts in every open one from now on."""
        for root in list(self._sessions):
            await self.hear(root)

    async def look_for_keys(self) -> None:
        """What `palimpsest login` and `logout` did in another process counts from now on."""
        if self.keys is not None and await asyncio.to_thread(self.keys.reload):
            await self.hear_again()

    async def with_conversation(self, roots: Iterable[Path], conversation_id: ConversationId) -> FolderSession:
        """The session among `roots` that holds the conversation. Raises NotFound."""
        for root in roots:
            session = await self.get(root)
            if self._homes.get(conversation_id) == root or await session.conversations.holds(conversation_id):
                self._homes[conversation_id] = root
                return session
        raise NotFound(f"There is no conversation {conversation_id!r} in the open folders. List them and choose one.")

    async def with_turn(self, roots: Iterable[Path], turn_id: TurnId) -> FolderSession:
        """The session among `roots` that holds the turn. Raises NotFound."""
        for root in roots:
            session = await self.get(root)
            if await session.conversations.holds_turn(turn_id):
                return session
        raise NotFound(f"There is no turn {turn_id!r} in the open folders. Read the conversation to see its messages.")

    async def close(self) -> None:
        """Closes every folder, at once."""
        for leaving in self._leaving.values():
            leaving.cancel()
        opened = await asyncio.gather(*self._sessions.values(), return_exceptions=True)
        self._sessions.clear()
        sessions = [session for session in opened if isinstance(session, FolderSession)]
        await asyncio.gather(*self._closing.values(), *(session.folder.close() for session in sessions))
        await asyncio.gather(*(close() for close in self.shared))
