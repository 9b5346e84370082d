"""Servers of the Model Context Protocol whose tools the model may call."""

from __future__ import annotations

import enum

import attrs

from palimpsest.wire.declare import Direction, Notification, Request, Wire


class McpState(enum.StrEnum):
    """How a server is."""

    OFF = "off"
    """It is not used: the folder is not trusted, or the server is switched off or was refused."""
    UNAPPROVED = "unapproved"
    """A file of the folder asks for it, and the user has not answered. Nothing was started."""
    STARTING = "starting"
    """It is being started, for the first time or after it ended."""
    READY = "ready"
    """Its tools, resources and prompts can be used."""
    FAILED = "failed"
    """It was given up. `mcp/restart` tries again."""


@attrs.frozen(eq=False, repr=False)
class McpServerInfo(Wire):
    """One configured server."""

    name: str
    """Its name. The model calls its tools `NAME__TOOL`."""
    state: McpState
    """How it is."""
    origin: str
    """Where it is configured: `config.toml` (the user's own settings), `.mcp.json` or `.vscode/mcp.json`."""
    sentence: str
    """Why it is not ready; empty when there is nothing to say."""
    shown: str
    """What is started or called, complete: a command on one line or an address, then lines with its folder, variables
    and headers. Variables of the environment are named and not filled in. Show it as plain text."""
    fingerprint: str
    """A digest of what is started or called, for `mcp/approve`."""
    tools: list[str]
    """The names of its tools for the model."""
    resources: list[str]
    """What a message can mention: `NAME:URI`."""
    prompts: list[str]
    """What a user can type: `/NAME:PROMPT` with its arguments."""
    problems: list[str]
    """A sentence for each thing that the server offers and that is left out."""


@attrs.frozen(eq=False, repr=False)
class McpServersParams(Wire):
    """Which folder to look at."""

    folder: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""


@attrs.frozen(eq=False, repr=False)
class McpServers(Wire):
    """The servers of a folder."""

    folder: str
    """URI of the workspace folder."""
    servers: list[McpServerInfo]
    """By name; may be empty."""
    problems: list[str]
    """A sentence for each configured server that does not count."""


@attrs.frozen(eq=False, repr=False)
class McpApproveParams(Wire):
    """The user's answer about a server that a file of the folder asks for. It holds for exactly this command or
    address; `approval/revoke` takes it back."""

    name: str
    """The server."""
    fingerprint: str
    """The `fingerprint` of what the user saw. The request fails when the server is configured differently by now."""
    is_approved: bool
    """Whether it may be started. If not, it stays off."""
    folder: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""


@attrs.frozen(eq=False, repr=False)
class McpRestartParams(Wire):
    """A server to end and start again."""

    name: str
    """The server."""
    folder: str | None = None
    """URI of the workspace folder. Absent: the only or first folder."""


MESSAGES: tuple[Request | Notification, ...] = (
    Request(
        "palimpsest/mcp/servers",
        McpServersParams,
        McpServers,
        "List the MCP servers of a folder. Its files are read again.",
    ),
    Request(
        "palimpsest/mcp/approve",
        McpApproveParams,
        McpServers,
        "Approve or refuse a server that a file of the folder asks for.",
    ),
    Request(
        "palimpsest/mcp/restart",
        McpRestartParams,
        McpServers,
        "End a server and start it again.",
    ),
    Notification(
        "palimpsest/didChangeMcpServers",
        McpServers,
        "A server of the folder is in another state, or offers something else.",
        Direction.SERVER_TO_CLIENT,
    ),
)
