"""Commands that word a message: those of the user's own, and the prompts of MCP servers. Where there is an input, the
message becomes its draft, so that the user reads it before it is sent."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.services.chat.commands.markdown import code, plain, table
from palimpsest.services.chat.commands.scope import Reply, Scope
from palimpsest.services.chat.commands.table import is_built_in, typed_name
from palimpsest.services.chat.own_commands import commands_of, message_of
from palimpsest.services.folder.session import OpenFolder
from palimpsest.services.mcp.prompts import offered_prompts, written_out


@dataclass(frozen=True, slots=True)
class Worded:
    """A message that a command made."""

    author: str
    """Who words it, as the subject of a sentence."""
    message: str


async def worded_message(folder: OpenFolder, text: str) -> Worded | None:
    """The message that a command makes; None for any other command. Raises InvalidRequest, also for a command that only
    a folder without trust has."""
    if (message := await written_out(folder.mcp, text)) is not None:
        return Worded("The server", message)
    name, arguments = typed_name(text)
    if is_built_in(name):
        return None
    known = await commands_of(folder)
    if (command := known.by_name.get(name)) is not None:
        return Worded(f"/{name}, from {command.origin},", message_of(command, arguments))
    known.refuse_untrusted(name)
    return None


async def as_draft(scope: Scope, worded: Worded) -> Reply:
    """The message as the draft of the user's next one."""
    if scope.open_conversation is not None:
        await scope.conversations.set_draft(scope.open_conversation, worded.message)
    quoted = "\n".join(f"> {line}" for line in worded.message.splitlines())
    return Reply(
        f"{plain(worded.author)} words this message. Look at it, then send it:\n\n{quoted}", draft=worded.message
    )


async def own_listed(folder: OpenFolder) -> str:
    """The commands of the user's own, and the files that are none; empty when there is neither."""
    known = await commands_of(folder)
    rows = [(each.usage, each.description, each.origin) for each in known.by_name.values()]
    parts = [table(("Your own command", "What it does", "From"), rows)] if rows else []
    if known.problems:
        parts.append("\n".join(f"- {plain(each)}" for each in known.problems))
    if known.untrusted:
        parts.append("This folder brings commands of its own. You do not trust the folder, so they are not used.")
    return "\n\n".join(parts)


def prompts_listed(folder: OpenFolder) -> str:
    """The prompts of the MCP servers that run; empty when there are none."""
    offered = offered_prompts(folder.mcp)
    return "Prompts of MCP servers: " + ", ".join(code(each.usage) for each in offered) if offered else ""
