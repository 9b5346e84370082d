"""Questions to the user of an editor, by `window/showMessageRequest`.

The request is as old as the protocol. The capability `window.showMessage` says only how an editor treats the choices,
so every editor is asked; one without the request answers with an error.
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
    """The editor cannot show its user a question."""


async def ask_user(ls: PalimpsestServer, question: str, choices: Sequence[str]) -> str | None:
    """The user's choice; None when they chose nothing. Waits as long as that takes. Raises CannotAsk."""
    actions = [lsp.MessageActionItem(choice) for choice in choices]
    params = lsp.ShowMessageRequestParams(lsp.MessageType.Warning, question, actions)
    try:
        answer = await ls.window_show_message_request_async(params)
    except JsonRpcException as error:
        raise CannotAsk from error
    return None if answer is None or answer.title not in choices else answer.title


async def require_consent(ls: PalimpsestServer, question: str, consent: str, given: dict[str, object]) -> bool:
    """Whether the user agrees: the command's argument `isConfirmed`, else their answer to `question`. Raises
    InvalidRequest when the editor cannot ask."""
    if given.get("isConfirmed") is True:
        return True
    try:
        return await ask_user(ls, question, (consent, "Cancel")) == consent
    except CannotAsk:
        raise InvalidRequest(
            "This editor cannot ask for confirmation, so nothing was done. To confirm, send `isConfirmed: true` with "
            "the command."
        ) from None
