"""The workspace folders that are open in this process, each with its store and its services."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest.domain.errors import CLOSED, InvalidRequest, NotFound, PalimpsestError, StoreError
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.upgrade import TellUpgrade, Upgrade
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.models.editor_models import EditorModels
from palimpsest.services.models.keys import Keys
from palimpsest.services.models.model_services import ModelServices


@dataclass(frozen=True, slots=True)
class EditorsWord:
    """The trust and the settings that an editor sent for a folder. Of several editors, the last one counts."""

    is_trusted: bool | None = None
    """None when no editor said anything; then the user's own list of trusted folders counts."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The settings as they came, unchecked."""


HearUpgrade = Callable[[Path, Upgrade | None], None]


def _is_text(root: Path) -> bool:
    """Whether the path is valid text."""
    return not any("\ud800" <= character <= "\udfff" for character in str(root))


@dataclass(slots=True)
class Folders:
    """Opens each folder once, when it is first needed, and closes it when nobody uses it."""

    open_session: Callable[[Path, EditorsWord, TellUpgrade], Awaitable[FolderSession]]
    renew: Callable[[FolderSession, EditorsWord], Awaitable[FolderSession]]
    """Makes the session for the current settings; returns the same one when nothing has changed."""
    keys: Keys
    """The keys of the model services."""
    editor_models: EditorModels
    """The models that editors offer to all folders."""
    model_services: ModelServices
    """The services that models are asked at."""
    shared: Sequence[Callable[[], Awaitable[None]]] = ()
    """Closes what the folders share, after the last folder."""
    has_store: Callable[[Path], bool] = lambda _: True
    """Whether a resolved folder has a store."""
    _sessions: dict[Path, asyncio.Future[FolderSession]] = field(default_factory=dict)
    _words: dict[Path, EditorsWord] = field(default_factory=dict)
    _homes: dict[ConversationId, Path] = field(default_factory=dict)
    """The folder of each conversation that was looked up: a conversation never leaves its folder."""
    _hearing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Applies what editors say in the order in which they say it."""
    linger_s: float = 1.0
    """How long an unused folder stays open: an editor may come back, and requests may be on their way."""
    _holders: dict[Path, set[object]] = field(default_factory=dict)
    """The holders of each folder. A folder that was never held stays open."""
    _leaving: dict[Path, asyncio.Task[None]] = field(default_factory=dict)
    """Tasks that wait until an unused folder can be closed."""
    _is_closed: bool = False
    _closing: dict[Path, asyncio.Task[None]] = field(default_factory=dict)
    _upgrade_listeners: list[HearUpgrade] = field(default_factory=list)

    def hold(self, root: Path, holder: object) -> None:
        """Register `holder` as a user of the resolved folder, open or not. Call it before `get`: a folder without
        holders is closed."""
        self._holders.setdefault(root, set()).add(holder)

    def leave(self, root: Path, holder: object) -> None:
        """Remove a holder. Without holders, the folder is closed as soon as its turns have ended, and the turns of
        other servers that are followed here."""
        holders = self._holders.get(root, set())
        holders.discard(holder)
        if holders:
            return
        self._holders.pop(root, None)
        if root in self._sessions and root not in self._leaving:
            leaving = self._leaving[root] = asyncio.create_task(self._close_unused(root), name="close unused folder")
            leaving.add_done_callback(lambda _: self._leaving.pop(root, None))

    async def _close_unused(self, root: Path) -> None:
        """Close the folder unless somebody holds it again. There is no await between the last check and the closing."""
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
        """Forget the folder and close it; the next `get` opens it again. `session`: None when it could not be
        opened."""
        del self._sessions[root]
        self._homes = {each: home for each, home in self._homes.items() if home != root}
        if session is not None:
            closing = self._closing[root] = asyncio.create_task(session.folder.close(), name="close folder")
            closing.add_done_callback(lambda _: self._closing.pop(root, None))

    async def get(self, root: Path) -> FolderSession:
        """The session of a resolved folder. Raises NotFound, StoreError or InvalidRequest when it cannot be opened; the
        next call tries again. Raises StoreError after `close`: nobody would close what is opened then."""
        if self._is_closed:
            raise StoreError(CLOSED)
        if (opening := self._opening(root)) is not None:
            try:
                session = await asyncio.shield(opening)
            except StoreError:
                opening = self._opening(root)  # it began before this call: the obstacle may be gone
            else:
                store = session.folder.store
                if not store.reads_until_writable or not await asyncio.to_thread(store.is_writable):
                    return session
                if self._opening(root) is opening:  # no other call did it meanwhile
                    self._close_session(root, session)
                opening = self._opening(root)
        if opening is None:
            opening = self._sessions[root] = asyncio.create_task(self._open(root))
        return await asyncio.shield(opening)

    async def is_known(self, root: Path) -> bool:
        """Whether a resolved folder has a store. Reading about a folder must not create one."""
        return self._opening(root) is not None or await asyncio.to_thread(self.has_store, root)

    def _opening(self, root: Path) -> asyncio.Future[FolderSession] | None:
        """The session that is open or being opened; None when there is none, or it has failed."""
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
        loop = asyncio.get_running_loop()

        def tell(upgrade: Upgrade) -> None:
            loop.call_soon_threadsafe(self._tell_upgrade, root, upgrade)

        try:
            return await self.open_session(root, self._words.get(root, EditorsWord()), tell)
        finally:
            self._tell_upgrade(root, None)

    def watch_upgrades(self, hear: HearUpgrade) -> Callable[[], None]:
        """Calls `hear` while a folder is being opened whose store is of an older version: with each step, and with None
        at the end of every opening. Returns what ends that."""
        self._upgrade_listeners.append(hear)
        return lambda: self._upgrade_listeners.remove(hear)

    def _tell_upgrade(self, root: Path, upgrade: Upgrade | None) -> None:
        for hear in list(self._upgrade_listeners):
            hear(root, upgrade)

    async def hear(
        self, root: Path, *, is_trusted: bool | None = None, settings: Mapping[str, Any] | None = None
    ) -> FolderSession | None:
        """Set what an editor says about a resolved folder, open or not; None means nothing. Returns the new session of
        an open folder."""
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
                return None  # the folder was closed meanwhile
            if renewed is not session:
                self._sessions[root] = asyncio.get_running_loop().create_future()
                self._sessions[root].set_result(renewed)
            return renewed

    async def hear_again(self) -> None:
        """Renew every session after a change that is about no single folder, such as a key."""
        for root in list(self._sessions):
            await self.hear(root)

    async def look_for_keys(self) -> None:
        """Take up keys that `palimpsest login` and `logout` have changed in another process."""
        if await asyncio.to_thread(self.keys.reload):
            await self.hear_again()

    async def with_conversation(self, roots: Iterable[Path], conversation_id: ConversationId) -> FolderSession:
        """The session among `roots` that has the conversation. Raises NotFound."""
        for root in roots:
            session = await self.get(root)
            if self._homes.get(conversation_id) == root or await session.conversations.holds(conversation_id):
                self._homes[conversation_id] = root
                return session
        raise NotFound(f"There is no conversation {conversation_id!r} in the open folders. List them and choose one.")

    async def with_turn(self, roots: Iterable[Path], turn_id: TurnId) -> FolderSession:
        """The session among `roots` that has the turn. Raises NotFound."""
        for root in roots:
            session = await self.get(root)
            if await session.conversations.holds_turn(turn_id):
                return session
        raise NotFound(f"There is no turn {turn_id!r} in the open folders. Read the conversation to see its messages.")

    async def close(self) -> None:
        """Close all folders, at the same time; none opens again."""
        self._is_closed = True
        for leaving in self._leaving.values():
            leaving.cancel()
        opened = await asyncio.gather(*self._sessions.values(), return_exceptions=True)
        self._sessions.clear()
        sessions = [session for session in opened if isinstance(session, FolderSession)]
        await asyncio.gather(*self._closing.values(), *(session.folder.close() for session in sessions))
        await asyncio.gather(*(close() for close in self.shared))
