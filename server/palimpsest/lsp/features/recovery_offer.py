"""The offer to resolve an answer that broke off in a folder."""

from __future__ import annotations

import logging
from typing import Final

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import TurnId
from palimpsest.domain.turns.recovery import Resolution
from palimpsest.lsp.features.parts.offered_models import OfferedModels
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.turns.recovery import BrokenAnswer, Recovery
from palimpsest.wording import counted

log = logging.getLogger(__name__)

_CHOICES: Final = {
    "Continue": Resolution.CONTINUE,
    "Keep": Resolution.KEEP,
    "Discard": Resolution.DISCARD,
    "Retry": Resolution.RETRY,
}


async def offer(ls: PalimpsestServer, session: FolderSession) -> None:
    """Offers by a question, or by a message when the editor cannot ask. Without an answer nothing is done."""
    try:
        recent = await Recovery(session.turns).recent()
        if not recent:
            return
        newest = recent[-1]
        choice = await _ask(ls, _sentence(newest, len(recent) - 1))
        if choice is not None:
            await _choose(ls, newest.turn.id, choice)
    except PalimpsestError as error:
        ls.warn(str(error))
    except Exception as error:
        log.warning("a broken-off answer could not be offered (%s)", type(error).__name__)


async def _ask(ls: PalimpsestServer, sentence: str) -> Resolution | None:
    """The user's choice; None for no choice, and when the editor cannot ask."""
    window = ls.client_capabilities.window
    if window is None or window.show_message is None:
        ls.warn(f"{sentence} The command /recover lists such answers.")
        return None
    actions = [lsp.MessageActionItem(title) for title in _CHOICES]
    question = lsp.ShowMessageRequestParams(lsp.MessageType.Warning, sentence, actions)
    try:
        answer = await ls.window_show_message_request_async(question)
    except JsonRpcException:
        return None
    return None if answer is None else _CHOICES.get(answer.title)


async def _choose(ls: PalimpsestServer, turn_id: TurnId, choice: Resolution) -> None:
    """Carries out the choice. A turn that this begins runs without a request; any client may attach to it."""
    session = await ls.session_of_turn(turn_id)
    await Recovery(session.turns).resolve(turn_id, choice, asked_by=ls.part(OfferedModels).id)


def _sentence(broken: BrokenAnswer, n_others: int) -> str:
    n_kept = counted(broken.n_characters, "character")
    kept = f"The part that had arrived is kept ({n_kept})" if broken.n_characters else "No part of it had arrived"
    others = ""
    if n_others:
        others = f" {counted(n_others, 'more answer')} broke off in other conversations."
    return (
        f'The last answer in "{broken.title or "untitled"}" broke off. {kept}. '
        f"It can be continued, kept as it is, discarded, or tried again.{others}"
    )
