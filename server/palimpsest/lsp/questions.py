"""Questions to the user of an editor, by `window/showMessageRequest`.

The request is as old as the protocol; what an editor may announce about it (`window.showMessage`) is only how it treats
the choices. So every editor is asked, and one that has no such request answers with an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from palimpsest.domain.errors import InvalidRequest

if TYPE_CHECKING:
    from palimpsest.lsp.server import PalimpsestServer


class CannotAsk(Exception):
    """The editor shows its user no questions."""


async def ask_user(ls: PalimpsestServer, question: str, choices: Sequence[str]) -> str | None:
    """The choice of the user, None when they chose none. However long that takes. Raises CannotAsk."""
    actions = [lsp.MessageActionItem(choice) for choice in choices]
    params = lsp.ShowMessageRequestParams(lsp.MessageType.Warning, question, actions)
    try:
        answer = await ls.window_show_message_request_async(params)
    except JsonRpcException as error:
        raise CannotAsk from error
    return None if answer is None or answer.title not in choices else answer.title


async def require_consent(ls: PalimpsestServer, question: str, consent: str, given: dict[str, object]) -> bool:
    """Whether the user wants it: what the command's argument says by `isConfirmed`, else what they answer. Raises
    InvalidRequest where they cannot be asked."""
    if given.get("isConfirmed") is True:
        return True
    try:
        return await ask_user(ls, question, (consent, "Cancel")) == consent
    except CannotAsk:
        raise InvalidRequest(
            "This editor cannot ask whether you mean it, so nothing was done. If you do, send `isConfirmed: true` with "
            "the command."
        ) from None
