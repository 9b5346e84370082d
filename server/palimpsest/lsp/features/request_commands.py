"""Requests of our protocol as commands of `workspace/executeCommand`, for editors that send only requests of the
standard. Each takes at most one argument, the parameters of the request, and answers what the request answers.

What a slash command does has its command already (`features/commands`); what deletes something asks its user first
(`confirmed_commands`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from palimpsest.domain.errors import InvalidRequest
from palimpsest.lsp.errors import answers
from palimpsest.lsp.features import adoption, conversations, credentials, history, tools, transfer
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.values import Mismatch
from palimpsest.wire.areas.adoption import ListAdoptionParams, ResolveAdoptionParams
from palimpsest.wire.areas.conversations import ArchiveParams, ListConversationsParams
from palimpsest.wire.areas.credentials import ListCredentialsParams
from palimpsest.wire.areas.tools import ListApprovalsParams
from palimpsest.wire.areas.transfer import ImportParams
from palimpsest.wire.codec.convert import from_json, to_json
from palimpsest.wire.declare import Wire

P = TypeVar("P", bound=Wire)


def read_argument(given: dict[str, Any], params: type[P]) -> P:
    """The parameters in a command's argument. Raises InvalidRequest."""
    try:
        found: P = from_json(given, params)
    except Mismatch as error:
        problems = "; ".join(error.sentences("argument"))
        raise InvalidRequest(f"The argument of the command is not valid: {problems}.") from error
    return found


def _command(params: type[P], do: Callable[[PalimpsestServer, P], Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @answers
    async def run(ls: Any, *arguments: Any) -> Any:  # pygls reads these annotations to call the command
        if len(arguments) > 1 or not all(isinstance(each, dict) for each in arguments):
            raise InvalidRequest("The command takes at most one argument, an object.")
        return to_json(await do(ls, read_argument(arguments[0] if arguments else {}, params)))

    return run


list_left = _command(ListAdoptionParams, adoption.list_left)
resolve_left = _command(ResolveAdoptionParams, adoption.resolve)
list_approvals = _command(ListApprovalsParams, tools.list_approvals)
archive = _command(ArchiveParams, history.archive)
import_ = _command(ImportParams, transfer.import_)
list_conversations = _command(ListConversationsParams, conversations.list_all)
list_services = _command(ListCredentialsParams, credentials.list_services)
