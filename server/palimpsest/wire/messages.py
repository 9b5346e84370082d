"""The protocol of Palimpsest, beside the standard Language Server Protocol.

A server announces it under `capabilities.experimental.palimpsest` as `{"version": 1}`. Every method is named
`palimpsest/…`. Fields are camelCase; a field marked optional is absent when it has no value. Times are UTC, ISO 8601.
Token counts are estimates in the model's own tokens unless a field says otherwise. Message ids count 0, 1, 2, … within
a conversation and are never reused.

Notifications of this protocol (`palimpsest/didChange…`, `palimpsest/contextEvent`) go only to editors that ask for them
in `initialize`: with `{"notifications": true}` under `capabilities.experimental.palimpsest`. To any other editor they
would be unknown messages.

What removes something or takes a key is also a command of `workspace/executeCommand` that asks the user first, by
`window/showMessageRequest`: `palimpsest.conversation.purge`, `palimpsest.approval.revoke`, `palimpsest.credentials.set`
and `palimpsest.fact.forget`, each with the parameters of its request. An editor that has asked them itself adds
`isConfirmed: true`.

Errors use the standard codes (-32602 invalid params, -32800 cancelled, -32801 content modified, -32802 server
cancelled, -32803 request failed). Their message is a full sentence for the user, and their `data` is an `ErrorData`.
"""

from __future__ import annotations

import attrs

from palimpsest.wire.areas import (
    adoption,
    attachments,
    commands,
    context,
    conversations,
    credentials,
    editor_models,
    facts,
    models,
    places,
    recovery,
    search,
    tools,
    trust,
    turns,
    usage,
)
from palimpsest.wire.areas import purge as purging
from palimpsest.wire.areas import rules as ledger
from palimpsest.wire.areas import transfer as transfers
from palimpsest.wire.declare import Notification, Request, Wire

PROTOCOL_VERSION = 1
AREAS = (
    places,
    usage,
    attachments,
    turns,
    recovery,
    adoption,
    commands,
    context,
    ledger,
    facts,
    conversations,
    search,
    models,
    credentials,
    editor_models,
    tools,
    trust,
    transfers,
    purging,
)
"""The modules that declare the rest of the protocol."""


@attrs.frozen(eq=False, repr=False)
class ErrorData(Wire):
    """What an error carries for programs."""

    kind: str
    """What went wrong, such as `not_found`, `conversation_busy`, `recent_messages_too_large`, `auth`, `network`."""
    retryable: bool
    """Whether the same request may succeed later."""
    retry_after_ms: int | None = None
    """How long to wait before a retry."""
    provider: str | None = None
    """The model's service that failed."""
    model: str | None = None
    """The model the request was for."""
    limit_tokens: int | None = None
    """The limit that was passed."""
    projected_tokens: int | None = None
    """What the request would have needed."""
    turn_id: str | None = None
    """The turn that failed; its text so far is kept and can be read."""
    errors: list[str] | None = None
    """Of invalid params: what is wrong, a line for each place."""


MESSAGES: tuple[Request | Notification, ...] = (
    *turns.MESSAGES,
    *recovery.MESSAGES,
    *adoption.MESSAGES,
    *attachments.MESSAGES,
    *commands.MESSAGES,
    *context.MESSAGES,
    *ledger.MESSAGES,
    *facts.MESSAGES,
    *usage.MESSAGES,
    *conversations.MESSAGES,
    *search.MESSAGES,
    *models.MESSAGES,
    *credentials.MESSAGES,
    *editor_models.MESSAGES,
    *tools.MESSAGES,
    *trust.MESSAGES,
    *transfers.MESSAGES,
    *purging.MESSAGES,
)
