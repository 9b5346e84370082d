"""Runs a slash command for any client: the answer is Markdown.

A command says in words what a request of the protocol says in values, and decides nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from palimpsest.domain.command_names import CommandName
from palimpsest.services.chat.commands import (
    answers,
    approvals,
    context,
    conversation,
    costs,
    file_changes,
    mcp,
    memory,
    sharing,
)
from palimpsest.services.chat.commands.markdown import table
from palimpsest.services.chat.commands.scope import Reply, Scope
from palimpsest.services.chat.commands.table import COMMANDS, is_built_in, parse, typed_name
from palimpsest.services.chat.commands.worded import as_draft, own_listed, prompts_listed, worded_message
from palimpsest.services.chat.own_commands import commands_of


async def run_command(scope: Scope, text: str) -> Reply:
    """A command, one of the user's own, or the prompt of a server. Raises InvalidRequest for a text that `parse`
    refuses, and what the request of that command raises."""
    if (worded := await worded_message(scope.session.folder, text)) is not None:
        return await as_draft(scope, worded)
    typed = parse(text, () if is_built_in(typed_name(text)[0]) else (await commands_of(scope.session.folder)).by_name)
    return await RUN[typed.command.name](scope, typed.argument)


async def _help(scope: Scope, __: str) -> Reply:
    rows = [(command.usage, command.help) for command in COMMANDS]
    parts = [
        table(("Command", "What it does"), rows),
        await own_listed(scope.session.folder),
        prompts_listed(scope.session.folder),
        "To send a message that begins with a slash, type a blank before the slash.",
    ]
    return Reply("\n\n".join(part for part in parts if part))


RUN: Final[Mapping[CommandName, Callable[[Scope, str], Awaitable[Reply]]]] = {
    CommandName.CONTEXT: context.context,
    CommandName.SUMMARIZE: context.summarize,
    CommandName.EXPAND: context.expand,
    CommandName.REGENERATE: context.regenerate,
    CommandName.UNDO: context.undo,
    CommandName.REDO: context.redo,
    CommandName.ROLLBACK: conversation.rollback,
    CommandName.PURGE: conversation.purge,
    CommandName.FORK: conversation.fork,
    CommandName.RETRY: answers.retry,
    CommandName.CONTINUE: answers.go_on,
    CommandName.CHANGES: file_changes.changes,
    CommandName.REVERT: file_changes.revert,
    CommandName.RENAME: conversation.rename,
    CommandName.PIN: memory.pin,
    CommandName.RULES: memory.rules,
    CommandName.WITHDRAW: memory.withdraw,
    CommandName.MODEL: context.model,
    CommandName.USAGE: context.usage,
    CommandName.STATS: context.stats,
    CommandName.COST: costs.cost,
    CommandName.SEARCH: conversation.search,
    CommandName.FACTS: memory.facts,
    CommandName.FORGET: memory.forget,
    CommandName.RESTORE: memory.restore,
    CommandName.LAYOUT: context.layout,
    CommandName.NEW: conversation.new,
    CommandName.RECOVER: answers.recover,
    CommandName.SHARE: sharing.share,
    CommandName.UNSHARE: sharing.unshare,
    CommandName.SHARED: sharing.shared,
    CommandName.MCP: mcp.mcp,
    CommandName.APPROVALS: approvals.approvals,
    CommandName.EXPORT: conversation.export,
    CommandName.HELP: _help,
}
