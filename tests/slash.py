"""Every slash command, with an argument that makes sense after one exchange, and what its answer says then."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.command_names import CommandName

ASKED: Final = "Which color has the gate?"
ANSWERED: Final = "The gate is blue."

_NO_HUB: Final = "No hub is set up"
EXAMPLES: Final[dict[CommandName, tuple[str, str]]] = {
    CommandName.HELP: ("", "type a blank before"),
    CommandName.CONTEXT: ("", "Messages as they were said"),
    CommandName.USAGE: ("", "2 messages, 0 summaries"),
    CommandName.STATS: ("", "Nothing was summarized in this conversation yet."),
    CommandName.COST: ("", "This conversation"),
    CommandName.MODEL: ("", "gpt-4o (default)"),
    CommandName.SEARCH: ("gate", "message 1, assistant"),
    CommandName.RULES: ("", "There are no rules."),
    CommandName.PIN: ("Never use tabs.", "Pinned."),
    CommandName.WITHDRAW: ("1", "No standing rule '1'"),
    CommandName.FACTS: ("", "There are no facts about this folder yet."),
    CommandName.FORGET: ("9", "There is no fact 9"),
    CommandName.RESTORE: ("", "No fact was forgotten"),
    CommandName.LAYOUT: ("log", "the layout is log."),
    CommandName.MCP: ("", "No MCP server is configured."),
    CommandName.APPROVALS: ("", "you are asked each time"),
    CommandName.RECOVER: ("", "There are no broken answers"),
    CommandName.SHARE: ("", _NO_HUB),
    CommandName.UNSHARE: ("", _NO_HUB),
    CommandName.SHARED: ("", _NO_HUB),
    CommandName.EXPORT: ("", "Wrote 2 messages"),
    CommandName.SUMMARIZE: ("", "Nothing to summarize"),
    CommandName.EXPAND: ("9", "There is no summary 9"),
    CommandName.REGENERATE: ("9", "There is no summary 9"),
    CommandName.UNDO: ("", "Nothing to undo"),
    CommandName.REDO: ("", "Nothing to redo"),
    CommandName.CONTINUE: ("", "This answer is complete"),
    CommandName.CHANGES: ("", "No edit of a file is kept"),
    CommandName.REVERT: ("9", "No edit of a file is kept"),
    CommandName.RENAME: ("Gates", "is now “Gates”"),
    CommandName.PURGE: ("", "A purge would delete for good"),
    CommandName.RETRY: ("", "The message is answered again"),
    CommandName.FORK: ("", "The chat continues in a fork"),
    CommandName.ROLLBACK: ("", "are hidden"),
    CommandName.NEW: ("Other", "A new conversation"),
}
"""Those that change which messages there are come last, so that they can be run one after the other."""
ELSEWHERE: Final = frozenset((CommandName.RETRY, CommandName.FORK, CommandName.ROLLBACK, CommandName.NEW))
"""The commands behind which the chat is another one, or an answer comes."""


def typed(name: CommandName) -> str:
    return f"/{name} {EXAMPLES[name][0]}".rstrip()
