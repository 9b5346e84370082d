"""What PostgreSQL's errors mean for the caller of a hub."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import psycopg

from palimpsest.domain.conversation.titles import arrived_title
from palimpsest_hub.errors import HubRefused, HubUnreachable

_REFUSED: Final = "HB001"
"""What `hub.refuse` raises."""
_READ_ONLY: Final = "25006"
_FULL: Final = ("53100", "54000")
_CLASSES: Final[Mapping[str, tuple[str, str]]] = {
    "28": (
        "login",
        "The hub does not take this login or its password. Passwords come from ~/.pgpass, or from the file that the "
        "variable PGPASSFILE names; only you may be able to read it.",
    ),
    "3D": ("address", "There is no database of this name at the hub's address."),
    "3F": ("schema", "There is no hub in this database. Its administrator makes one with `palimpsest hub setup`."),
    "42": (
        "forbidden",
        "This login may not use the hub. Its administrator adds members with `palimpsest hub member add`.",
    ),
    "22": ("malformed", "The hub does not take a value of this form."),
    "23": ("malformed", "The hub does not take a value of this form."),
}
"""The classes of PostgreSQL's errors that mean a refusal, each with its kind and its sentence."""


def failure_of(error: psycopg.Error) -> HubRefused | HubUnreachable:
    """Our word for a failure. It quotes nothing of the driver's message but what our own functions said."""
    state = error.sqlstate
    if state == _REFUSED:
        diag = error.diag
        said = arrived_title(diag.message_primary or "")  # it may quote what a member wrote
        return HubRefused(diag.message_detail or "hub", said, diag.message_hint or None)
    if state == "42P01" or state == "42883":  # no such table, no such function
        return HubRefused(*_CLASSES["3F"])
    if state is not None and state in _FULL:
        return HubRefused("full", "The hub has no room left. Nothing is lost here; its administrator has to make room.")
    if state is not None and state[:2] in _CLASSES:
        return HubRefused(*_CLASSES[state[:2]])
    if state == _READ_ONLY:
        return HubUnreachable("The hub takes no writes now, as during a failover.")
    if isinstance(error, psycopg.OperationalError):
        return HubUnreachable("The hub cannot be reached.")
    return HubRefused("hub", f"The hub failed ({state or type(error).__name__}).")


def connecting_failure(error: psycopg.Error) -> HubRefused | HubUnreachable:
    """Our word for a connection that could not be made: libpq tells failures of that apart by words alone."""
    message = str(error)
    if isinstance(error, psycopg.InterfaceError) and "EventLoop" in message:
        return HubRefused("address", "On Windows no hub can be used yet.")
    if "certificate" in message or "does not support SSL" in message:
        return HubRefused("tls", "The hub's certificate is not one that this machine trusts for its name.")
    if _is_login_refused(message):
        return HubRefused(*_CLASSES["28"])
    if "does not exist" in message and "database" in message:
        return HubRefused(*_CLASSES["3D"])
    return failure_of(error)


def _is_login_refused(message: str) -> bool:
    return any(each in message for each in ("authentication failed", "no password supplied", "not permitted to log in"))


def administrators_failure(error: psycopg.Error) -> HubRefused | HubUnreachable:
    """For an administrator, who may read what PostgreSQL says."""
    if error.sqlstate == _REFUSED or (error.sqlstate is None and not str(error)):
        return failure_of(error)
    if error.sqlstate is None and _is_login_refused(str(error)):
        return HubRefused(*_CLASSES["28"])
    said = error.diag.message_primary or (str(error).strip().splitlines() or [type(error).__name__])[-1]
    sentence = f"PostgreSQL says: {said.strip()}"
    is_lost = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    if is_lost:
        return HubUnreachable(f"The database that HUB_ADMIN names was not reached. {sentence}")
    return HubRefused("hub", sentence)
