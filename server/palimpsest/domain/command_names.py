"""The names of the slash commands, in the order in which they are shown."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final

NAME_OF_COMMAND: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
"""The name of any command, without its slash. Those of Palimpsest are words of letters."""
TYPED: Final = re.compile(r"/([A-Za-z][A-Za-z0-9_-]*(?::\S+)?)(?:\s+(.*))?", re.DOTALL)
"""A command, or the prompt of an MCP server (`/SERVER:PROMPT`), as a user types it: its name, its argument. A path, and
a slash behind a blank, are messages."""


class CommandName(StrEnum):
    CONTEXT = "context"
    SUMMARIZE = "summarize"
    EXPAND = "expand"
    REGENERATE = "regenerate"
    UNDO = "undo"
    REDO = "redo"
    ROLLBACK = "rollback"
    PURGE = "purge"
    FORK = "fork"
    RETRY = "retry"
    CONTINUE = "continue"
    CHANGES = "changes"
    REVERT = "revert"
    RENAME = "rename"
    PIN = "pin"
    RULES = "rules"
    WITHDRAW = "withdraw"
    MODEL = "model"
    USAGE = "usage"
    STATS = "stats"
    COST = "cost"
    SEARCH = "search"
    FACTS = "facts"
    FORGET = "forget"
    RESTORE = "restore"
    LAYOUT = "layout"
    NEW = "new"
    RECOVER = "recover"
    SHARE = "share"
    UNSHARE = "unshare"
    SHARED = "shared"
    MCP = "mcp"
    APPROVALS = "approvals"
    EXPORT = "export"
    HELP = "help"
