"""Conversations that a folder left behind when it was moved or cloned again, and how to bring them to the new
folder."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Notification, Request, Wire


class AdoptionAction(enum.StrEnum):
    """What to do with the conversations."""

    ADOPT = "adopt"
    """Copy them to this folder. The originals stay as they are."""
    DECLINE = "decline"
    """Leave them where they are, and never offer them to this folder again."""


@attrs.frozen(eq=False, repr=False)
class LeftBehind(Wire):
    """The conversations of a folder that no longer exists at its path and that is probably this one."""

    folder_uri: str
    """URI of the workspace folder that can take the conversations."""
    store: str
    """The id of the store, for `adoption/resolve`."""
    path: str
    """The old path of the folder."""


@attrs.frozen(eq=False, repr=False)
class ListAdoptionParams(Wire):
    """Which folders to look at."""

    folder_uri: str | None = None
    """URI of the workspace folder. Absent: every open folder."""


@attrs.frozen(eq=False, repr=False)
class ListAdoptionResult(Wire):
    """The conversations that can be adopted. A folder that has conversations of its own is offered none."""

    stores: list[LeftBehind]
    """At most one for each folder."""


@attrs.frozen(eq=False, repr=False)
class ResolveAdoptionParams(Wire):
    """Adopt or decline conversations that `adoption/list` offered."""

    folder_uri: str
    """The `folderUri` from the list."""
    store: str
    """The `store` from the list."""
    action: AdoptionAction
    """What to do. The editor has to ask the user first."""


@attrs.frozen(eq=False, repr=False)
class AdoptionResult(Wire):
    """What was adopted."""

    conversation_count: int
    """How many of the conversations are in this folder now."""
    pin_count: int
    """How many pins were copied."""
    refused: list[str]
    """Ids of damaged conversations, which were not copied."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/adoption/list",
        ListAdoptionParams,
        ListAdoptionResult,
        "List the conversations that a moved folder left behind and that this folder can adopt.",
    ),
    Request(
        "palimpsest/adoption/resolve",
        ResolveAdoptionParams,
        AdoptionResult,
        "Adopt such conversations, or decline them for good. The originals are never removed.",
    ),
)
