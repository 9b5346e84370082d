"""The notice that no model answers in a conversation. It is shown by the editor and part of no message."""

from __future__ import annotations

from lsprotocol import types as lsp

from palimpsest.domain.messages import TurnId
from palimpsest.lsp.features.parts.notices import Notices
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.models.offline_notice import next_step, notice_of, offer_of


async def tell_of_search(ls: PalimpsestServer, session: FolderSession, turn_id: TurnId) -> None:
    """Tells the user once a conversation that no model answers, and how to set one up in this editor. An editor that
    says so itself would say it twice."""
    if ls.offers_set_up:
        return
    notice = await offer_of(session.folder.store, turn_id, session.contexts.models)
    if notice is None:
        notice = await notice_of(session.folder.store, turn_id, session.contexts.models, next_step(ls.editor_name))
    elif not ls.part(Notices).is_first_offer((await session.conversations.outcome(turn_id)).turn.conversation_id):
        return
    if notice is not None:
        ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Info, notice))
