"""Tools that an editor brings, and what the user is asked before a tool changes something."""

from __future__ import annotations

import enum
from typing import Any

import attrs

from palimpsest.wire.declare import Direction, Notification, Request, Wire


@attrs.frozen(eq=False, repr=False)
class EditorToolInfo(Wire):
    """A tool that the model may call and the editor runs."""

    name: str
    """1 to 57 letters, digits, `_` and `-`. The model finds it as `editor_…`."""
    description: str
    """What it does and when to use it, for the model."""
    parameters: dict[str, Any]
    """JSON Schema of the arguments object; empty for none."""
    is_read_only: bool
    """Whether it changes nothing, so that the user need not be asked. Others are offered in trusted folders only."""


@attrs.frozen(eq=False, repr=False)
class RegisterToolsParams(Wire):
    """The tools this editor brings from now on, in the place of those it brought before. They go when it leaves."""

    tools: list[EditorToolInfo]
    """May be empty."""


@attrs.frozen(eq=False, repr=False)
class RegisterToolsResult(Wire):
    """What the model finds."""

    names: list[str]
    """The names under which it does, in the order of `tools`."""


@attrs.frozen(eq=False, repr=False)
class RunToolParams(Wire):
    """A call of one of the editor's tools. Cancelled when the turn is."""

    conversation_id: str
    """The conversation."""
    turn_id: str
    """The turn that waits for the result."""
    name: str
    """The tool, as it was registered."""
    arguments: dict[str, Any]
    """As the model wrote them; the editor checks them against its schema."""


@attrs.frozen(eq=False, repr=False)
class RunToolResult(Wire):
    """What the model is told."""

    text: str
    """The result, or what went wrong."""
    is_error: bool | None = None
    """Whether the call failed."""


class ApprovalAnswer(enum.StrEnum):
    """What the user says."""

    ONCE = "once"
    """Yes, this time."""
    ALWAYS = "always"
    """Yes, and to everything that `covers` says, until it is revoked."""
    DENY = "deny"
    """No, this time. Also for a question that was dismissed."""
    NEVER = "never"
    """No, and to everything that `covers` says, until it is revoked."""


@attrs.frozen(eq=False, repr=False)
class ApprovalRequestParams(Wire):
    """A tool call that waits for the user. Every editor with the folder open is asked; the first answer counts, and the
    request is cancelled at the others, and at one that closes the folder."""

    conversation_id: str
    """The conversation."""
    turn_id: str
    """The turn that waits."""
    tool: str
    """The tool's name."""
    title: str
    """The question, on one line."""
    shown: str
    """What would happen, complete: a command on one line, a unified diff, or JSON. To be shown as it is, as plain text;
    characters that cannot be seen stand in it as `⟨U+202E⟩`."""
    covers: str
    """What `always` and `never` would cover, such as `edits of a.py`."""
    may_be_always: bool
    """Whether `always` may be offered; where not, it counts as `once`."""


@attrs.frozen(eq=False, repr=False)
class ApprovalRequestResult(Wire):
    """The user's word."""

    answer: ApprovalAnswer
    """What they said."""


@attrs.frozen(eq=False, repr=False)
class ListApprovalsParams(Wire):
    """Ask for a folder's rules."""

    folder: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""


@attrs.frozen(eq=False, repr=False)
class ApprovalRule(Wire):
    """An answer that was kept."""

    id: int
    """For `approval/revoke`."""
    tool: str
    """The tool's name."""
    answer: ApprovalAnswer
    """`always` or `never`."""
    covers: str
    """Which calls it is for."""
    created_at: str
    """When it was given."""


@attrs.frozen(eq=False, repr=False)
class ListApprovalsResult(Wire):
    """A folder's rules."""

    rules: list[ApprovalRule]
    """Oldest first."""


@attrs.frozen(eq=False, repr=False)
class RevokeApprovalParams(Wire):
    """Take an answer back: the user is asked again."""

    id: int
    """The rule."""
    folder: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/tools/register",
        RegisterToolsParams,
        RegisterToolsResult,
        "Bring tools that the model may call and this editor runs.",
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
        "Ask the user whether a tool may do something. An editor that cannot ask answers with an error.",
        Direction.SERVER_TO_CLIENT,
    ),
    Request(
        "palimpsest/approval/list",
        ListApprovalsParams,
        ListApprovalsResult,
        "Which tool calls always run in a folder, and which never do.",
    ),
    Request(
        "palimpsest/approval/revoke",
        RevokeApprovalParams,
        ListApprovalsResult,
        "Take a kept answer back. Answers with the rules that are left.",
    ),
)
