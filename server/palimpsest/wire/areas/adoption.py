"""Conversations of a folder that was moved or cloned anew, which can be brought to where it is now."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Notification, Request, Wire


class AdoptionAction(enum.StrEnum):
    """What to do about conversations that were left behind."""

    ADOPT = "adopt"
    """Copy them here. What they were copied from stays as it is."""
    DECLINE = "decline"
    """Leave them, and do not offer them to this folder again."""


@attrs.frozen(eq=False, repr=False)
class LeftBehind(Wire):
    """The conversations of a folder that is not where it was, and that this one is taken for."""

    folder_uri: str
    """URI of the workspace folder they can be brought to."""
    store: str
    """Names them, for `adoption/resolve`."""
    path: str
    """Where the folder was."""


@attrs.frozen(eq=False, repr=False)
class ListAdoptionParams(Wire):
    """Where to look."""

    folder_uri: str | None = None
    """URI of the workspace folder. Absent: every open folder."""


@attrs.frozen(eq=False, repr=False)
class ListAdoptionResult(Wire):
    """What can be brought here. A folder with conversations of its own is offered nothing."""

    stores: list[LeftBehind]
    """At most one a folder."""


@attrs.frozen(eq=False, repr=False)
class ResolveAdoptionParams(Wire):
    """Do something about conversations that `adoption/list` offered."""

    folder_uri: str
    """As in the list."""
    store: str
    """As in the list."""
    action: AdoptionAction
    """What to do. The user has to be asked first."""


@attrs.frozen(eq=False, repr=False)
class AdoptionResult(Wire):
    """What was brought."""

    conversation_count: int
    """How many conversations are here now that were there."""
    pin_count: int
    """How many pins were brought."""
    refused: list[str]
    """Ids of conversations that are not sound and stayed where they are."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/adoption/list",
        ListAdoptionParams,
        ListAdoptionResult,
        "List the conversations that a moved folder left behind and that can be brought to where it is now.",
    ),
    Request(
        "palimpsest/adoption/resolve",
        ResolveAdoptionParams,
        AdoptionResult,
        "Bring such conversations here, or decline them for good. Nothing is taken away where they were.",
    ),
)
