"""The slash commands of the chat: what there are, and what a text means by one.

A message is a command when it begins with a slash and a word; `/usr/bin` or a slash behind a blank is a message. Who
carries them out is `commanding`; the terminal is an editor and has commands of its own.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.command_names import CommandName
from palimpsest.domain.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command as help and completion know it."""

    name: CommandName
    argument: str
    """How its argument is written, in brackets where it may be left out; empty when it takes none."""
    help: str

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.argument}".rstrip()

    @property
    def needs_argument(self) -> bool:
        return bool(self.argument) and not self.argument.startswith("[")


COMMANDS: Final = (
    SlashCommand(CommandName.CONTEXT, "", "Show what the next request would hold, and why."),
    SlashCommand(CommandName.SUMMARIZE, "[A-B]", "Summarise older messages now, or those from A to B."),
    SlashCommand(CommandName.EXPAND, "N", "Put what summary N stands for back into the context."),
    SlashCommand(CommandName.REGENERATE, "N", "Write summary N again."),
    SlashCommand(CommandName.UNDO, "", "Take the last change of summaries back; again: the one before it."),
    SlashCommand(CommandName.REDO, "", "Take the last undo back."),
    SlashCommand(CommandName.ROLLBACK, "[N]", "Take back the newest message, or those from N on; they can be read."),
    SlashCommand(CommandName.PURGE, "[A-B] [yes]", "Say what deleting messages for good would take; yes: delete them."),
    SlashCommand(CommandName.FORK, "[N]", "Go on in another conversation, with the messages up to N."),
    SlashCommand(CommandName.RETRY, "", "Answer the last message again."),
    SlashCommand(CommandName.CONTINUE, "", "Go on with the last answer where it broke off."),
    SlashCommand(CommandName.RENAME, "TITLE", "Name this conversation."),
    SlashCommand(CommandName.PIN, "TEXT", "Make a rule hold in every conversation of this folder."),
    SlashCommand(CommandName.RULES, "", "List the standing rules and pins."),
    SlashCommand(CommandName.WITHDRAW, "ID", "Take a standing rule or a pin back."),
    SlashCommand(CommandName.MODEL, "[NAME]", "List the models, or go on with another one."),
    SlashCommand(CommandName.USAGE, "", "Show how full the context is."),
    SlashCommand(CommandName.STATS, "", "Show what summarising has saved, and what it cost."),
    SlashCommand(CommandName.SEARCH, "TEXT", "Find messages of this folder's conversations."),
    SlashCommand(CommandName.FACTS, "[TEXT]", "List the newest facts of this folder, or find some."),
    SlashCommand(CommandName.FORGET, "N", "Forget fact N; it can be restored for 30 days."),
    SlashCommand(CommandName.RESTORE, "[N]", "List the facts that were forgotten, or restore one."),
    SlashCommand(
        CommandName.LAYOUT, "[NAME]", "Lay this conversation out as log or librarian, or as the settings say."
    ),
    SlashCommand(CommandName.NEW, "[TITLE]", "Begin another conversation."),
    SlashCommand(CommandName.RECOVER, "[N WHAT]", "List answers that broke off; continue, keep, discard or retry one."),
    SlashCommand(CommandName.EXPORT, "[PATH]", "Write this conversation to a file."),
    SlashCommand(CommandName.HELP, "", "List the commands."),
)
"""In the order they are shown."""

_BY_NAME: Final[dict[str, SlashCommand]] = {command.name.value: command for command in COMMANDS}
_COMMAND: Final = re.compile(r"/([A-Za-z]+)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """A command that somebody wrote."""

    command: SlashCommand
    argument: str
    """Without white space around it; empty when there is none."""


def parse(text: str) -> Asked:
    """The command a text means. InvalidRequest, with what comes near, for one there is none of, and for an argument
    that is missing or too much."""
    match = _COMMAND.fullmatch(text.rstrip())
    if match is None:
        raise InvalidRequest("This is no command: one begins with a slash and a word. /help lists them.")
    name, argument = match[1].lower(), (match[2] or "").strip()
    command = _BY_NAME.get(name)
    if command is None:
        raise InvalidRequest(f"There is no command /{name[:40]}. {_suggestion(name)}")
    if argument and not command.argument:
        raise InvalidRequest(f"/{name} takes no argument.")
    if command.needs_argument and not argument:
        raise InvalidRequest(f"Something is missing: {command.usage}.")
    return Asked(command, argument)


def matching(prefix: str) -> list[SlashCommand]:
    """The commands whose name begins so, else those that come near."""
    wanted = prefix.lower()
    starting = [command for command in COMMANDS if command.name.startswith(wanted)]
    return starting or [_BY_NAME[name] for name in _nearest(wanted)]


def _nearest(name: str) -> list[str]:
    return difflib.get_close_matches(name[:40], _BY_NAME, 3, 0.5)


def _suggestion(name: str) -> str:
    starting = [known for known in _BY_NAME if known.startswith(name)]
    near = [f"/{known}" for known in starting or _nearest(name)]
    return f"Did you mean {' or '.join(near)}?" if near else "/help lists them."
