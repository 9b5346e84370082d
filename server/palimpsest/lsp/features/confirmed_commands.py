"""Requests that delete something or take a key, as commands of `workspace/executeCommand`. Each asks its user first.

Such a command takes one argument, the parameters of the request; `isConfirmed` means that the user has agreed already.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from palimpsest.lsp.errors import answers
from palimpsest.lsp.features import credentials, tools
from palimpsest.lsp.features import purge as purging
from palimpsest.lsp.features.request_commands import read_argument
from palimpsest.lsp.questions import require_consent
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.wire.areas.credentials import SetCredentialsParams
from palimpsest.wire.areas.purge import PurgeParams
from palimpsest.wire.areas.tools import RevokeApprovalParams
from palimpsest.wire.codec.convert import to_json
from palimpsest.wire.declare import Wire

P = TypeVar("P", bound=Wire)


def _command(
    params: type[P],
    question: Callable[[PalimpsestServer, P], Awaitable[str]],
    consent: str,
    do: Callable[[PalimpsestServer, P], Awaitable[Any]],
) -> Callable[..., Awaitable[Any]]:
    @answers
    async def run(ls: Any, *arguments: Any) -> Any:  # pygls reads these annotations to call the command
        given = dict(arguments[0]) if len(arguments) == 1 and isinstance(arguments[0], dict) else {}
        asked = {"isConfirmed": given.pop("isConfirmed", None)}
        wanted = read_argument(given, params)
        if not await require_consent(ls, await question(ls, wanted), consent, asked):
            return None
        return to_json(await do(ls, wanted))

    return run


async def _purge_question(ls: PalimpsestServer, params: PurgeParams) -> str:
    return await purging.what_would_go(ls, params)


async def _purge(ls: PalimpsestServer, params: PurgeParams) -> Any:
    return await purging.purge(ls, PurgeParams(params.conversation_id, params.range, confirm=True))


async def _revoke_question(ls: PalimpsestServer, params: RevokeApprovalParams) -> str:
    return f"Withdraw answer {params.id} about a tool? You will be asked again before its next use."


async def _key_question(ls: PalimpsestServer, params: SetCredentialsParams) -> str:
    if params.key is None:
        return f"Delete the key of {params.provider}?"
    return f"Use another key for {params.provider}? It will pay for all later requests."


purge = _command(PurgeParams, _purge_question, "Purge", _purge)
revoke_approval = _command(RevokeApprovalParams, _revoke_question, "Take it back", tools.revoke_approval)
set_credentials = _command(SetCredentialsParams, _key_question, "Go on", credentials.set_credentials)
