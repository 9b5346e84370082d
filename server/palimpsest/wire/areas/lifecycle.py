"""The beginning and the end of a connection, and what goes wrong in between.

A server announces this protocol under `capabilities.experimental.palimpsest` as `{"version": 1}`. Its own notifications
(`palimpsest/didChange…`, `palimpsest/didMoveApart`, `palimpsest/contextEvent`) go only to editors that ask for them in
`initialize`, with `{"notifications": true}` under `capabilities.experimental.palimpsest`: to any other editor they
would be unknown messages. With `{"setUp": true}` there, an editor says itself that no model is set up, and the server
does not say it in a message. With `{"extras": true}`, it installs extras of the server, and is told which is missing by
`palimpsest/extraMissing` in the place of a message. With `{"digests": true}`, an editor that changes files which it has
not opened gets `palimpsest: {"digests": {URI: DIGEST}}` beside `edit` in the params of `workspace/applyEdit`: the
SHA-256 of the text (UTF-8, no byte order mark) that the edit of this file was computed from. It refuses the edit of a
file that holds another text. `initializationOptions.palimpsest` holds
[EditorOptions](#editoroptions).

An editor that pulls diagnostics, and can learn that they have changed without an edit (`workspace/diagnostic/refresh`,
or these notifications), pulls them. To any other editor they are pushed, and no `diagnosticProvider` is announced.

Requests that remove something or take a key are also commands of `workspace/executeCommand`, which ask the user first
by `window/showMessageRequest`: `palimpsest.conversation.purge`, `palimpsest.approval.revoke`,
`palimpsest.credentials.set` and `palimpsest.fact.forget`, each with the parameters of its request. An editor that has
asked the user itself adds `isConfirmed: true`.

Errors have the standard codes (-32602 invalid params, -32800 cancelled, -32801 content modified, -32802 server
cancelled, -32803 request failed). Their message is a full sentence for the user, and their `data` is an
[ErrorData](#errordata).
"""

from __future__ import annotations

import attrs

from palimpsest.wire.declare import Direction, Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class ErrorData(Wire):
    """The `data` of an error."""

    kind: str
    """The kind of the error, such as `not_found`, `conversation_busy`, `shared_busy`, `hub_unreachable`,
    `recent_messages_too_large`, `budget_spent`, `auth` or `network`."""
    retryable: bool
    """Whether the same request may succeed later."""
    retry_after_ms: int | None = None
    """How long to wait before the next attempt, in milliseconds."""
    provider: str | None = None
    """The provider that failed."""
    model: str | None = None
    """The model of the request."""
    limit_tokens: int | None = None
    """The limit that the request is over."""
    projected_tokens: int | None = None
    """The tokens that the request would have needed."""
    turn_id: str | None = None
    """The turn that failed. Its text so far is kept and can be read."""
    holder: str | None = None
    """For `shared_busy`: the name of the member who writes."""
    until: str | None = None
    """For `shared_busy`: when the member's right to write ends, unless it is renewed."""
    can_fork: bool | None = None
    """True when the same can be done in a fork at once: an editor can offer to *fork and go on*. Absent otherwise."""
    errors: list[str] | None = None
    """For invalid params: a line for each place that is wrong."""
    missing_extra: str | None = None
    """The extra of the server, `hub`, `mcp` or `web`, that is not installed and without which the request fails."""


@attrs.frozen(eq=False, repr=False)
class ExtraMissingParams(Wire):
    """An extra of the server that is not installed, though what the user configured needs it."""

    extra: str
    """Its name: `hub` or `mcp`."""
    sentence: str
    """What does not work without it, and how it is installed."""


MESSAGES: tuple[Request | Notification, ...] = (
    Notification(
        "palimpsest/extraMissing",
        ExtraMissingParams,
        "Something that the user configured needs an extra that is not installed, and the editor can install it.",
        Direction.SERVER_TO_CLIENT,
    ),
)
