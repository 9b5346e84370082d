"""The table of slash commands, and the command that a text means.

A text is a command when it is a slash and a name, alone or with white space behind it. `/usr/bin`, and a slash behind a
blank, are messages. A client may add commands of its own; the terminal does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.command_names import TYPED, CommandName
from palimpsest.domain.errors import InvalidRequest
from palimpsest.wording import completions, did_you_mean


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command as help and completion show it."""

    name: CommandName
    argument: str
    """How its argument is written, in brackets when it is optional; empty when the command takes none."""
    help: str

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.argument}".rstrip()

    @property
    def needs_argument(self) -> bool:
        return bool(self.argument) and not self.argument.startswith("[")


COMMANDS: Final = (
    SlashCommand(CommandName.CONTEXT, "[N]", "Show what the next request contains, and why, or all of summary N."),
    SlashCommand(CommandName.SUMMARIZE, "[A-B]", "Summarize older messages now, or messages A to B."),
    SlashCommand(CommandName.EXPAND, "N", "Replace summary N by what it was made of: messages, or smaller summaries."),
    SlashCommand(CommandName.REGENERATE, "N", "Write summary N again."),
    SlashCommand(CommandName.UNDO, "", "Undo the last change of summaries. Repeat it to undo the change before."),
    SlashCommand(CommandName.REDO, "", "Redo the change of summaries that you undid last."),
    SlashCommand(
        CommandName.ROLLBACK,
        "[N] [edits]",
        "Hide your newest message with its answer, or all from message N on; with `edits`, take edits of files back.",
    ),
    SlashCommand(CommandName.PURGE, "[A-B] [yes]", "Show what a purge would delete. With `yes`, delete it for good."),
    SlashCommand(CommandName.FORK, "[N]", "Continue in a new conversation that has the messages up to N."),
    SlashCommand(
        CommandName.RETRY, "[edits]", "Answer the last message again; with `edits`, take its edits of files back first."
    ),
    SlashCommand(CommandName.CONTINUE, "", "Continue the last answer where it broke off."),
    SlashCommand(CommandName.CHANGES, "[N]", "List the edits of files that you accepted here, or show edit N."),
    SlashCommand(CommandName.REVERT, "[N|PATH|all]", "Take back the edits of the last turn that made some, or others."),
    SlashCommand(CommandName.RENAME, "TITLE", "Give this conversation a title."),
    SlashCommand(CommandName.PIN, "TEXT", "Add a rule to every conversation of this folder."),
    SlashCommand(CommandName.RULES, "", "List the rules and the pins."),
    SlashCommand(CommandName.WITHDRAW, "ID", "Withdraw a rule or a pin."),
    SlashCommand(CommandName.MODEL, "[NAME]", "List the models, or switch to another one."),
    SlashCommand(CommandName.USAGE, "", "Show how full the context is."),
    SlashCommand(CommandName.STATS, "", "Show what summaries have saved and what they cost."),
    SlashCommand(CommandName.COST, "", "Show what models have cost: this conversation, today, this month."),
    SlashCommand(CommandName.SEARCH, "TEXT", "Search the messages of this folder's conversations."),
    SlashCommand(CommandName.FACTS, "[TEXT]", "List the newest facts of this folder, or search the facts."),
    SlashCommand(CommandName.FORGET, "N [yes]", "Forget fact N. You can restore it for 30 days."),
    SlashCommand(CommandName.RESTORE, "[N]", "List the forgotten facts, or restore fact N."),
    SlashCommand(CommandName.LAYOUT, "[NAME]", "Use the layout `log` or `librarian` here, or the one of the settings."),
    SlashCommand(CommandName.NEW, "[TITLE]", "Start a new conversation."),
    SlashCommand(CommandName.RECOVER, "[N CHOICE]", "List broken answers; continue, keep, discard or retry one."),
    SlashCommand(
        CommandName.SHARE,
        "[facts] [yes]",
        "Show who would read this conversation, or the facts of this folder. With `yes`, share them.",
    ),
    SlashCommand(
        CommandName.UNSHARE,
        "[facts]",
        "Take this conversation out of the hub, or share no more facts. Others keep what they have.",
    ),
    SlashCommand(CommandName.SHARED, "[N]", "List the conversations of your team, or open one."),
    SlashCommand(
        CommandName.MCP,
        "[approve|refuse|restart NAME]",
        "List the MCP servers and what they offer; approve, refuse or restart one.",
    ),
    SlashCommand(
        CommandName.APPROVALS,
        "[revoke N]",
        "List what you have always allowed or never allow in this folder, or be asked again about one.",
    ),
    SlashCommand(CommandName.EXPORT, "[PATH]", "Write this conversation to a file."),
    SlashCommand(CommandName.HELP, "", "List the commands."),
)
"""In the order in which they are shown."""

_BY_NAME: Final[dict[str, SlashCommand]] = {command.name.value: command for command in COMMANDS}


@dataclass(frozen=True, slots=True)
class Invocation:
    """A command that somebody typed."""

    command: SlashCommand
    argument: str
    """Without white space around it; empty when there is none."""


def typed_name(text: str) -> tuple[str, str]:
    """The name in lower case, and the argument without white space around it. Raises InvalidRequest for a message."""
    match = TYPED.fullmatch(text.rstrip())
    if match is None:
        raise InvalidRequest("This is not a command. A command is a slash and a word. /help lists the commands.")
    return match[1].lower(), (match[2] or "").strip()


def is_built_in(name: str) -> bool:
    """Whether a command of this name, in lower case, is Palimpsest's."""
    return name in _BY_NAME


def parse(text: str, own: Iterable[str] = ()) -> Invocation:
    """The command of Palimpsest that a text means. `own`: the names of commands of the user's own.

    Raises InvalidRequest for a message, for an unknown command (with the nearest names), and for a missing or
    superfluous argument.
    """
    name, argument = typed_name(text)
    command = _BY_NAME.get(name)
    if command is None:
        raise InvalidRequest(f"There is no command /{name[:40]}. {did_you_mean(name, (*_BY_NAME, *own))}")
    if argument and not command.argument:
        raise InvalidRequest(f"/{name} takes no argument.")
    if command.needs_argument and not argument:
        raise InvalidRequest(f"The argument is missing. Type {command.usage}.")
    return Invocation(command, argument)


def matching(prefix: str) -> list[SlashCommand]:
    """The commands whose names begin with `prefix`; when there are none, those with the nearest names."""
    return [_BY_NAME[name] for name in completions(prefix.lower(), _BY_NAME)]
