"""The names of the slash commands, in the order in which they are shown."""

from __future__ import annotations

from enum import StrEnum


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
    EXPORT = "export"
    HELP = "help"
