"""Tools that an editor brings, and the user's approval of tool calls."""

from __future__ import annotations

import enum
from typing import Any

import attrs

from palimpsest.wire.declare import Direction, Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class EditorToolInfo(Wire):
    """A tool that the model may call and the editor runs, or one for mentions."""

    name: str
    """1 to 57 letters, digits, `_` and `-`. The model calls it `editor_NAME`."""
    description: str
    """What the tool does and when to use it, for the model."""
    parameters: dict[str, Any]
    """JSON Schema of the arguments object; empty when there are none."""
    is_read_only: bool
    """Whether the tool changes nothing, so that the user is not asked. Other tools are offered in trusted folders
    only."""
    for_mentions: bool | None = None
    """Whether only a mention of the user, such as `@terminal`, runs the tool. No model knows of it."""


@attrs.frozen(eq=False, repr=False)
class RegisterToolsParams(Wire):
    """All tools that this editor brings from now on. They are removed when the editor disconnects."""

    tools: list[EditorToolInfo]
    """The tools; may be empty."""


@attrs.frozen(eq=False, repr=False)
class RegisterToolsResult(Wire):
    """The names of the tools for the model."""

    names: list[str]
    """The names, in the order of `tools`."""


@attrs.frozen(eq=False, repr=False)
class RunToolParams(Wire):
    """A call of a tool of the editor. The server cancels it when the turn is cancelled."""

    conversation_id: str
    """The conversation."""
    turn_id: str
    """The turn that waits for the result."""
    name: str
    """The name of the tool, as it was registered."""
    arguments: dict[str, Any]
    """The arguments as the model wrote them. The editor checks them against its schema."""


@attrs.frozen(eq=False, repr=False)
class RunToolResult(Wire):
    """The result of the call, for the model."""

    text: str
    """The result, or a sentence that says what went wrong."""
    is_error: bool | None = None
    """Whether the call failed."""


class ApprovalAnswer(enum.StrEnum):
    """The user's answer."""

    ONCE = "once"
    """Yes, this time."""
    ALWAYS = "always"
    """Yes, and yes to all calls that `covers` describes, until the user revokes it."""
    DENY = "deny"
    """No, this time. This is also the answer when the user dismisses the question."""
    NEVER = "never"
    """No, and no to all calls that `covers` describes, until the user revokes it."""


@attrs.frozen(eq=False, repr=False)
class ApprovalRequestParams(Wire):
    """A tool call that waits for the user's approval.

    The server asks every editor that has the folder open. The first answer counts, and the server cancels the request
    in the other editors, and in an editor that closes the folder.
    """

    conversation_id: str
    """The conversation."""
    turn_id: str
    """The turn that waits for the answer."""
    tool: str
    """The name of the tool."""
    title: str
    """The question, on one line."""
    shown: str
    """The complete effect of the call: a command on one line, a unified diff, or JSON. The editor shows it as plain
    text, without a change. Invisible characters are written as `⟨U+202E⟩`."""
    covers: str
    """The calls that `always` and `never` cover, such as `edits of a.py`."""
    may_be_always: bool
    """Whether the editor may offer `always`. If not, `always` counts as `once`."""


@attrs.frozen(eq=False, repr=False)
class ApprovalRequestResult(Wire):
    """The user's answer."""

    answer: ApprovalAnswer
    """The answer."""


@attrs.frozen(eq=False, repr=False)
class ListApprovalsParams(Wire):
    """Which folder to look at."""

    folder: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""


@attrs.frozen(eq=False, repr=False)
class ApprovalRule(Wire):
    """An answer that the server keeps."""

    id: int
    """Its id, for `approval/revoke`."""
    tool: str
    """The name of the tool."""
    answer: ApprovalAnswer
    """`always` or `never`."""
    covers: str
    """The calls that it covers."""
    created_at: str
    """When the user gave it."""


@attrs.frozen(eq=False, repr=False)
class ListApprovalsResult(Wire):
    """The answers that are kept for a folder."""

    rules: list[ApprovalRule]
    """Oldest first."""


@attrs.frozen(eq=False, repr=False)
class RevokeApprovalParams(Wire):
    """An answer to revoke. The user is asked again from then on."""

    id: int
    """The id of the answer."""
    folder: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/tools/register",
        RegisterToolsParams,
        RegisterToolsResult,
        "Register tools that the model may call and this editor runs.",
    ),
    Request(
        "palimpsest/tools/run",
        RunToolParams,
        RunToolResult,
        "Run a tool that this editor has registered.",
        Direction.SERVER_TO_CLIENT,
    ),
    Request(
        "palimpsest/approval/request",
        ApprovalRequestParams,
        ApprovalRequestResult,
        "Ask the user to approve a tool call. An editor that cannot ask answers with an error.",
        Direction.SERVER_TO_CLIENT,
    ),
    Request(
        "palimpsest/approval/list",
        ListApprovalsParams,
        ListApprovalsResult,
        "List the answers of the user that are kept for a folder.",
    ),
    Request(
        "palimpsest/approval/revoke",
        RevokeApprovalParams,
        ListApprovalsResult,
        "Revoke an answer that was kept. The result lists the answers that are left.",
    ),
)
