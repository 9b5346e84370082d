"""Settings and trust of workspace folders."""

from __future__ import annotations

from typing import Any

import attrs

from palimpsest.wire.declare import Direction, Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class EditorOptions(Wire):
    """`initializationOptions.palimpsest`. Every field is optional."""

    trust: bool | list[str] | None = None
    """Whether the user trusts all workspace folders, or the URIs of the trusted ones. Absent: the folders count that
    the user named to `palimpsest trust`."""
    settings: Any | None = None
    """The editor's settings for all folders, an object as in docs/settings.md. The server asks an editor that supports
    `workspace/configuration` for the section `palimpsest` of each folder instead, and uses these settings when the
    answer is null."""


@attrs.frozen(eq=False, repr=False)
class TrustChangedParams(Wire):
    """The user's trust in a workspace folder."""

    folder_uri: str
    """URI of the folder."""
    is_trusted: bool
    """Whether the user trusts it. Only in a trusted folder do its project settings, its instructions and tools that
    change something count."""


MESSAGES: tuple[Request | Notification, ...] = (
    Notification(
        "palimpsest/didChangeTrust",
        TrustChangedParams,
        "The user's trust in a workspace folder has changed. The change takes effect at once.",
        Direction.CLIENT_TO_SERVER,
    ),
)
