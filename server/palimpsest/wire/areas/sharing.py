"""Conversations that are shared through a hub, and the way to the hub.

A conversation that somebody writes on another machine is answered to `chat` with an error of the kind `shared_busy`,
and one whose hub does not answer with `hub_unreachable`. Nothing was stored then. Both have `canFork`: an editor can
offer to *fork and go on*, which is `conversation/fork` and `chat` in the fork, with the same text.

The turn of another machine is followed like any other: `conversation/read` has it as `running`, and `turn/attach`
streams it. Only text comes, as far as the last whole word, and the names of tools.
"""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.areas.conversations import ConversationInfo, WriterInfo
from palimpsest.wire.declare import Direction, Notification, Request, Wire


class HubState(enum.StrEnum):
    """The state of the way to the hub."""

    OFF = "off"
    """No hub is set up."""
    CONNECTING = "connecting"
    """The hub was not asked yet."""
    CONNECTED = "connected"
    """The hub answers."""
    AWAY = "away"
    """The hub does not answer."""
    REFUSED = "refused"
    """The hub answers and says no, such as to an unknown login."""
    NEWER_NEEDED = "newerNeeded"
    """The hub, or a conversation in it, needs a newer version of Palimpsest."""


@attrs.frozen(eq=False, repr=False)
class HubStatusParams(Wire):
    """Which folder's way to the hub."""

    folder: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""


@attrs.frozen(eq=False, repr=False)
class HubStatus(Wire):
    """How a folder's way to the hub is."""

    folder: str
    """URI of the workspace folder."""
    state: HubState
    """The state."""
    unsent: int
    """How many entries of shared conversations the hub does not have yet: messages, turns, summaries and the like."""
    since: str | None = None
    """For `away`: since when."""
    team: str | None = None
    """The name of the team with which conversations are shared, when it is known."""
    role: str | None = None
    """The user's role in it: `reader`, `writer` or `admin`."""
    problem: str | None = None
    """For `refused` and `newerNeeded`: a sentence that says why."""


@attrs.frozen(eq=False, repr=False)
class MemberInfo(Wire):
    """A member of a team."""

    name: str
    """The name."""
    role: str
    """`reader`, `writer` or `admin`."""
    is_self: bool
    """Whether it is the user."""


@attrs.frozen(eq=False, repr=False)
class Removal(Wire):
    """What would be taken out of messages. The texts themselves are in no message of the protocol."""

    kind: str
    """The kind, such as `AWS access key`, `path of this machine` or `result of a tool`."""
    message_ids: list[int]
    """The messages."""


@attrs.frozen(eq=False, repr=False)
class ShareParams(Wire):
    """A conversation to share."""

    conversation_id: str
    """The conversation."""
    team: str | None = None
    """The name of the team. Absent: that of the setting `hub.team`, or the only one."""
    confirm: bool | None = None
    """Whether the user has read what it means and agrees. If it is not true, nothing is shared, and the result says
    what would be."""


@attrs.frozen(eq=False, repr=False)
class ShareResult(Wire):
    """What sharing the conversation does, or has done."""

    team: str
    """The name of the team."""
    readers: list[MemberInfo]
    """Everybody who reads it."""
    message_count: int
    """How many messages are shared."""
    byte_count: int
    """How many bytes of text they have."""
    result_byte_count: int
    """How many of these are results of tools."""
    removals: list[Removal]
    """What is taken out before."""
    files: list[str]
    """The files whose content tools may have brought into the messages."""
    shares_tool_results: bool
    """Whether the results of tools are shared (`hub.share_tool_results`)."""
    is_copy: bool
    """Whether a copy is shared and the conversation stays as it is: because something is taken out, or because it is a
    fork of a conversation that is not shared, others wrote in it, or it was shared before."""
    conversation: ConversationInfo | None = None
    """What is shared now. Absent: nothing was shared."""


@attrs.frozen(eq=False, repr=False)
class UnshareParams(Wire):
    """A conversation to take out of the hub."""

    conversation_id: str
    """The conversation."""


@attrs.frozen(eq=False, repr=False)
class ListSharedParams(Wire):
    """Whose conversations to list."""

    folder: str | None = None
    """URI of the workspace folder that would take them in. Absent: the only or first folder."""
    team: str | None = None
    """The name of the team. Absent: that of the setting `hub.team`, or the only one."""


@attrs.frozen(eq=False, repr=False)
class SharedHeader(Wire):
    """A conversation in the hub, without its messages."""

    conversation_id: str
    """Its id, in every store."""
    title: str
    """Its title; empty when it has none."""
    owner: str
    """The name of the member who shares it."""
    message_count: int
    """How many messages it has."""
    created_at: str
    """When it began."""
    is_here: bool
    """Whether the folder has it already."""
    updated_at: str | None = None
    """When its log grew last. Absent: it has no entry yet."""
    writer: WriterInfo | None = None
    """Who writes it on another machine now."""


@attrs.frozen(eq=False, repr=False)
class ListSharedResult(Wire):
    """The conversations that are shared with a team."""

    team: str
    """The name of the team."""
    conversations: list[SharedHeader]
    """The last changed first."""


@attrs.frozen(eq=False, repr=False)
class OpenSharedParams(Wire):
    """A shared conversation to take in, with those that it was forked from."""

    conversation_id: str
    """The conversation."""
    folder: str | None = None
    """URI of the workspace folder that takes it in. Absent: the only or first folder."""
    team: str | None = None
    """The name of the team. Absent: that of the setting `hub.team`, or the only one."""


@attrs.frozen(eq=False, repr=False)
class MembersParams(Wire):
    """A shared conversation."""

    conversation_id: str
    """The conversation."""


@attrs.frozen(eq=False, repr=False)
class StoreInfo(Wire):
    """A member's store that has taken in some of a conversation."""

    member: str
    """The name of the member whose store it is."""
    is_this: bool
    """Whether it is the store of this folder."""
    applied_seq: int
    """The last entry of the log that it has taken in. A purge has reached it when this is at least the `seq` of the
    purge."""
    is_following: bool
    """Whether somebody looks at the conversation there now."""
    seen_at: str | None = None
    """When the hub heard of it last. Absent: never, as of a store that only wrote."""


@attrs.frozen(eq=False, repr=False)
class MembersResult(Wire):
    """Who reads a shared conversation."""

    members: list[MemberInfo]
    """Everybody who may read it, by name."""
    stores: list[StoreInfo]
    """The stores that have it."""
    head_seq: int
    """The last entry of the log."""


@attrs.frozen(eq=False, repr=False)
class PresenceChangedParams(Wire):
    """Who writes a shared conversation."""

    conversation_id: str
    """The conversation."""
    writer: WriterInfo | None = None
    """Who writes it on another machine now. Absent: nobody does."""


@attrs.frozen(eq=False, repr=False)
class MovedApartParams(Wire):
    """Somebody else wrote a shared conversation while the hub was away from here. The messages that were written here
    meanwhile are in a fork now."""

    conversation_id: str
    """The conversation."""
    title: str
    """Its title."""
    fork_id: str
    """The fork."""
    fork_title: str
    """Its title."""
    at: int
    """The id of the first message that moved. It has the same id in the fork."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request("palimpsest/hub/status", HubStatusParams, HubStatus, "Tell how a folder's way to the hub is."),
    Request(
        "palimpsest/conversation/share",
        ShareParams,
        ShareResult,
        "Share a conversation with a team, or say what that would do.",
    ),
    Request(
        "palimpsest/conversation/unshare",
        UnshareParams,
        ConversationInfo,
        "Take a conversation out of the hub. Others keep what they have taken in.",
    ),
    Request(
        "palimpsest/conversation/listShared",
        ListSharedParams,
        ListSharedResult,
        "List what is shared with a team, without messages.",
    ),
    Request(
        "palimpsest/conversation/openShared",
        OpenSharedParams,
        ConversationInfo,
        "Take a shared conversation in. It is kept in step from then on.",
    ),
    Request(
        "palimpsest/conversation/members",
        MembersParams,
        MembersResult,
        "Tell who reads a shared conversation, and how far each store has come.",
    ),
    Notification(
        "palimpsest/didChangeHub",
        HubStatus,
        "A folder's way to the hub is in another state.",
        Direction.SERVER_TO_CLIENT,
    ),
    Notification(
        "palimpsest/didChangePresence",
        PresenceChangedParams,
        "Somebody else began or ended to write a shared conversation.",
        Direction.SERVER_TO_CLIENT,
    ),
    Notification(
        "palimpsest/didMoveApart",
        MovedApartParams,
        "Messages of a shared conversation moved into a fork. An editor without our notifications shows a warning.",
        Direction.SERVER_TO_CLIENT,
    ),
)
