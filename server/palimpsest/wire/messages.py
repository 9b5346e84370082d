"""Palimpsest's own requests and notifications, beside those of the standard Language Server Protocol.

Every method is named `palimpsest/…`. Fields are camelCase; an optional field is absent when it has no value. Times are
UTC, in ISO 8601. Token counts are estimates in the model's own tokens unless a field says otherwise. Message ids count
0, 1, 2, … within a conversation and are never used again.
"""

from __future__ import annotations

from palimpsest.wire.areas import (
    adoption,
    attachments,
    commands,
    context,
    conversations,
    costs,
    credentials,
    editor_models,
    facts,
    file_changes,
    lifecycle,
    mcp,
    models,
    places,
    purge,
    recovery,
    rules,
    search,
    sharing,
    tools,
    transfer,
    trust,
    turns,
    usage,
)
from palimpsest.wire.declare import Notification, Request
from palimpsest.wire.version import PROTOCOL_VERSION as PROTOCOL_VERSION

AREAS = (
    lifecycle,
    trust,
    turns,
    recovery,
    file_changes,
    conversations,
    context,
    usage,
    costs,
    rules,
    facts,
    search,
    attachments,
    commands,
    tools,
    mcp,
    models,
    credentials,
    editor_models,
    transfer,
    purge,
    sharing,
    adoption,
    places,
)
"""The modules that declare the protocol, in the order of PROTOCOL.md."""

MESSAGES: tuple[Request | Notification, ...] = tuple(message for area in AREAS for message in area.MESSAGES)
