"""Carries out slash commands for editors that have nothing of their own for them: an answer is a text in Markdown.

Each says in words what a request of the protocol says in values, and decides nothing else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, assert_never

from palimpsest.domain.command_names import CommandName
from palimpsest.domain.context.model_switch import Expanding, Shrinking
from palimpsest.domain.context.rules.rule_set import RuleState
from palimpsest.domain.context.rules.standing import StandingRules
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.facts.fact import FactId
from palimpsest.domain.facts.fact import Wanted as FactsWanted
from palimpsest.domain.facts.text import for_people
from palimpsest.domain.messages import ConversationId, MessageId, SummaryId, TurnId
from palimpsest.domain.turns.recovery import Rerun, Resolution
from palimpsest.services.chat.commands import COMMANDS, parse
from palimpsest.services.context import reports as context_reports
from palimpsest.services.context.reports import Plan
from palimpsest.services.context.rule_commands import RuleCommands, is_ordinary
from palimpsest.services.conversation.history import Recut
from palimpsest.services.conversation.purge import set_aside
from palimpsest.services.conversation.search import Wanted, find
from palimpsest.services.conversation.transfer import Transfers
from palimpsest.services.facts.keeper import FactKeeper
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.models.editor_models import EditorId
from palimpsest.services.turns.recovery import Recovery
from palimpsest.services.turns.running import RunningTurn
from palimpsest.wording import counted

_MOST_FACTS: Final = 30


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command answers."""

    text: str
    """Markdown."""
    conversation_id: ConversationId | None = None
    """Where the chat goes on, when that is elsewhere."""
    turn_id: TurnId | None = None
    """The turn that it set going: its answer comes in the conversation."""


@dataclass(frozen=True, slots=True)
class Commanding:
    """The commands of one folder, as written in one conversation, or before there is one."""

    session: FolderSession
    conversation_id: ConversationId | None
    asked_by: EditorId | None = None
    """The editor in which they are written; None for what is no editor."""

    async def run(self, text: str) -> Reply:
        """Raises InvalidRequest for a text that is no command or cannot be meant, and what the command's own request
        raises."""
        asked = parse(text)
        argument, conversations = asked.argument, self.session.conversations
        match asked.command.name:
            case CommandName.CONTEXT:
                return Reply(_plan(await context_reports.explain(self.session.contexts, self._conversation, None)))
            case CommandName.SUMMARIZE:
                return Reply(await self._summarize(argument))
            case CommandName.EXPAND:
                return await self._recut(conversations.expand(self._conversation, _summary(argument, "/expand")))
            case CommandName.REGENERATE:
                summary_id = _summary(argument, "/regenerate")
                return await self._recut(conversations.regenerate(self._conversation, summary_id, self.asked_by))
            case CommandName.UNDO:
                return await self._recut(conversations.undo(self._conversation))
            case CommandName.REDO:
                return await self._recut(conversations.redo(self._conversation))
            case CommandName.ROLLBACK:
                return await self._roll_back(argument)
            case CommandName.PURGE:
                return Reply(await self._purge(argument))
            case CommandName.FORK:
                after = (
                    MessageId(_number(argument, "/fork N, with the last message to take along")) if argument else None
                )
                record = await conversations.fork(self._conversation, after, None)
                return Reply(f"Going on in a fork with {counted(record.n_messages, 'message')}.", record.id)
            case CommandName.RETRY:
                return await self._run_again(Resolution.RETRY)
            case CommandName.CONTINUE:
                return await self._run_again(Resolution.CONTINUE)
            case CommandName.RENAME:
                record = await conversations.rename(self._conversation, argument)
                return Reply(f"This conversation is called “{plain(record.title)}” now.")
            case CommandName.FORGET:
                return Reply(await self._forget(FactId(_number(argument, "/forget N, with a fact's number of /facts"))))
            case CommandName.RESTORE:
                return Reply(await self._restore(argument))
            case CommandName.PIN:
                rules = await self._pinning.pin(self._conversation, argument)
                return Reply("Pinned: it holds in every conversation of this folder.\n\n" + _rules(rules))
            case CommandName.RULES:
                return Reply(_rules(await self._pinning.rules(self._conversation)))
            case CommandName.WITHDRAW:
                rules = await self._pinning.withdraw(self._conversation, argument)
                return Reply("Taken back.\n\n" + _rules(rules))
            case CommandName.MODEL:
                return await self._switch(argument) if argument else Reply(self._models())
            case CommandName.USAGE:
                return Reply(await self._usage())
            case CommandName.STATS:
                return Reply(await self._stats())
            case CommandName.SEARCH:
                return Reply(await self._search(argument))
            case CommandName.FACTS:
                return Reply(await self._facts(argument))
            case CommandName.LAYOUT:
                return Reply(await self._layout(argument))
            case CommandName.NEW:
                record = await self.session.conversations.create(argument or None, None)
                return Reply("A new conversation begins with your next message.", record.id)
            case CommandName.RECOVER:
                return await self._recover(argument)
            case CommandName.EXPORT:
                return Reply(await self._export(argument))
            case CommandName.HELP:
                return Reply(_help())
            case _:
                assert_never(asked.command.name)

    @property
    def _conversation(self) -> ConversationId:
        if self.conversation_id is None:
            raise InvalidRequest("There is no conversation yet. Send a message first.")
        return self.conversation_id

    @property
    def _pinning(self) -> RuleCommands:
        return RuleCommands(self.session.contexts)

    async def _summarize(self, argument: str) -> str:
        done = await self.session.conversations.summarize(
            self._conversation, _range_of(argument, "/summarize A-B"), self.asked_by
        )
        if done.block is None:
            return plain(done.reason)
        report = await context_reports.usage_status(self.session.contexts, self._conversation)
        sizes = f"{done.tokens_before:,} → {done.tokens_after:,} tokens"
        return f"{plain(done.reason)}\n\n{sizes}; {plain(report.usage.format_compact())}"

    async def _recut(self, change: Coroutine[None, None, Recut]) -> Reply:
        done = await change
        report = await context_reports.usage_status(self.session.contexts, self._conversation)
        sizes = f"{done.tokens_before:,} → {done.tokens_after:,} tokens"
        return Reply(f"{plain(done.reason)}\n\n{sizes}; {plain(report.usage.format_compact())}")

    async def _roll_back(self, argument: str) -> Reply:
        to = MessageId(_number(argument, "/rollback N, with the first message to take back")) if argument else None
        done = await self.session.conversations.roll_back(self._conversation, to)
        taken = (
            f"Message {done.start} is" if done.start == done.end - 1 else f"Messages {done.start} to {done.end - 1} are"
        )
        said = f"{taken} taken back, and can still be read."
        return Reply(f"{said} What you had said there is your draft now." if done.draft else said)

    async def _purge(self, argument: str) -> str:
        said = argument.split()
        is_confirmed = said[-1:] == ["yes"]
        which = " ".join(said[:-1] if is_confirmed else said)
        wanted, session = _range_of(which, "/purge A-B"), self.session
        purging = session.purging
        if not is_confirmed:
            would = await purging.what_would_go(self._conversation, wanted)
            return f"{plain(would)}\n\nTo do it: `/purge {f'{which} ' if which else ''}yes`"
        scope = await purging.purge(self._conversation, wanted, is_confirmed=True)
        told = [f"The content of {counted(scope.n_contents, 'message')} is gone, for good, and what was made of it."]
        if scope.others:
            told.append(f"So are the same messages in {counted(len(scope.others), 'other conversation')}.")
        told.append(
            "What a model's service was sent is out of reach here; so is what your terminal keeps of what you type."
        )
        told += [
            f"{_code(path)} may still hold it: delete it if you do not need it."
            for path in set_aside(session.folder.store.directory)
        ]
        return " ".join(told)

    async def _run_again(self, how: Rerun) -> Reply:
        recovery = Recovery(self.session.turns)
        ended = await recovery.last_turn(self._conversation)
        return _set_going(how, self._conversation, await recovery.resolve(ended, how, asked_by=self.asked_by))

    @property
    def _keeper(self) -> FactKeeper:
        return self.session.folder.facts.keeper

    async def _forget(self, fact_id: FactId) -> str:
        fact = await self._keeper.get(fact_id)
        await self._keeper.forget(fact_id)
        return f"Forgotten: {plain(fact.fact.content)}\n\n`/restore {fact_id}` brings it back, for 30 days."

    async def _restore(self, argument: str) -> str:
        if argument:
            fact = await self._keeper.restore(FactId(_number(argument, "/restore N, with a number of /restore")))
            said = "It is a fact again" if fact.is_open else "It is kept again, but holds no longer"
            return f"{said}: {plain(fact.fact.content)}"
        rows = [(f"{each.id}", each.content, each.forgotten_at) for each in await self._keeper.forgotten()]
        return _table(("No.", "Fact", "Forgotten at"), rows) if rows else "No fact was forgotten in the last 30 days."

    async def _facts(self, words: str) -> str:
        found = await (self._keeper.search(words) if words else self._keeper.select(FactsWanted(limit=_MOST_FACTS)))
        return for_people(found) if found else "No facts."

    async def _layout(self, name: str) -> str:
        record = await self.session.conversations.set_layout(self._conversation, name or None)
        layout = record.layout or f"{self.session.settings.context.layout}, as the settings say"
        return f"From the next turn on the layout is {layout}."

    async def _switch(self, name: str) -> Reply:
        if self.conversation_id is None:
            record = await self.session.conversations.create(None, name)
            said = f"A new conversation with {plain(record.model)} begins with your next message."
            return Reply(said + self._doubt(name), record.id)
        done = await self.session.conversations.switch_model(self.conversation_id, name)
        said = f"The model is {plain(done.model.name)} now.{self._doubt(name)}"
        if isinstance(done.adaptation, Shrinking | Expanding):
            said += f" Budget {done.adaptation.old_budget:,} → {done.adaptation.new_budget:,} tokens."
        if isinstance(done.adaptation, Shrinking) and done.adaptation.needs_summarization:
            said += " Older messages will be summarised before the next answer."
        if isinstance(done.adaptation, Expanding) and done.adaptation.can_restore:
            said += f" As originals again: {counted(done.adaptation.can_restore, 'summarised message')}."
        return Reply(said)

    def _doubt(self, name: str) -> str:
        doubt = self.session.contexts.models.doubt(name)
        return "" if doubt is None else f" {plain(doubt)} `/model` lists those that are."

    def _models(self) -> str:
        rows = [
            (
                f"{choice.model.name} (default)" if choice.is_default else choice.model.name,
                choice.model.provider,
                f"{choice.model.limits.window:,}",
                "yes" if choice.is_available else f"no: {choice.hint or 'not configured'}",
            )
            for choice in self.session.contexts.models.choices()
        ]
        return _table(("Model", "Provider", "Window", "Available"), rows)

    async def _usage(self) -> str:
        report = await context_reports.usage_status(self.session.contexts, self._conversation)
        model, usage = report.model, report.usage
        said = [
            f"{plain(usage.format_compact())}, {usage.severity.name.lower()}",
            f"{plain(model.name)} ({plain(model.provider)}): window {model.limits.window:,} tokens, "
            f"{report.budget.reserve:,} of them kept for the answer",
            f"{counted(report.n_messages, 'message')}, {counted(usage.summarized_segments, 'summary')} in the context",
            f"Limits from: {plain(model.source.value)}. Tokens counted: {report.certainty.value}.",
        ]
        table = _table(("Part", "Tokens"), [(kind, f"{tokens:,}") for kind, tokens in report.by_kind])
        return "\n".join(f"- {line}" for line in said) + f"\n\n{table}"

    async def _stats(self) -> str:
        stats = await context_reports.stats(self.session.contexts, self._conversation)
        if not stats.recuts:
            return "Nothing was summarised in this conversation yet."
        saved = [(each.name, f"{each.n_fired}", f"{each.tokens_saved:,}") for each in stats.strategies]
        causes = ", ".join(f"{count} by {cause.value}" for cause, count in stats.recuts)
        costs = [
            (
                each.kind,
                f"{each.n_summaries}",
                f"{each.input_tokens:,}",
                f"{each.output_tokens:,}",
                _s(each.duration_ms),
            )
            for each in stats.summaries
        ]
        parts = [
            f"Re-cuts: {causes}; {_s(stats.duration_ms)} in all.",
            _table(("Strategy", "Times", "Tokens saved"), saved) if saved else "",
            _table(("Summaries", "Number", "Tokens read", "Tokens written", "Time"), costs) if costs else "",
        ]
        return "\n\n".join(part for part in parts if part)

    async def _search(self, text: str) -> str:
        hits = await find(self.session.folder.store, Wanted(text))
        if not hits:
            return "No message in this folder's conversations matches."
        return "\n".join(
            f"- **{plain(hit.title) or 'untitled'}**, message {hit.message_id}, {hit.role.value}: {plain(hit.snippet)}"
            for hit in hits
        )

    async def _recover(self, argument: str) -> Reply:
        recovery = Recovery(self.session.turns)
        broken = await recovery.unresolved()
        if not broken:
            return Reply("No answer broke off, or something was done about each.")
        if not argument:
            rows = [
                (f"{number}", each.title or "untitled", f"{each.n_characters:,}", each.ended_at)
                for number, each in enumerate(broken, 1)
            ]
            table = _table(("No.", "Title", "Characters", "When"), rows)
            return Reply(
                f"{table}\n\n`/recover N continue`, or `keep`, `discard` or `retry`, does something about one."
            )
        number, _, word = argument.partition(" ")
        choice = _CHOICES.get(word.strip().lower())
        if choice is None or not number.isascii() or not number.isdigit() or not 1 <= int(number[:9]) <= len(broken):
            raise InvalidRequest("Say which and what: /recover N continue, or keep, discard or retry.")
        turn = broken[int(number[:9]) - 1].turn
        return _set_going(choice, turn.conversation_id, await recovery.resolve(turn.id, choice, asked_by=self.asked_by))

    async def _export(self, argument: str) -> str:
        conversation_id = self._conversation
        path = _file_of(self.session.folder.root, argument or f"conversation-{conversation_id[:8]}.jsonl")
        done = await Transfers(self.session.conversations).export_to(conversation_id, path, overwrites=False)
        return (
            f"Wrote {counted(done.n_messages, 'message')} to {_code(str(path))}. Whoever can read that file can read "
            "everything that was said."
        )


_CHOICES = {choice.value: choice for choice in Resolution}
_CHOSEN = {
    Resolution.CONTINUE: "The answer goes on in its conversation.",
    Resolution.RETRY: "The message is answered again in its conversation.",
    Resolution.KEEP: "The answer is kept as it is.",
    Resolution.DISCARD: "The answer is hidden; it can still be read.",
}


def _set_going(choice: Resolution, conversation_id: ConversationId, turn: RunningTurn | TurnId | None) -> Reply:
    return Reply(_CHOSEN[choice], conversation_id, turn.id if isinstance(turn, RunningTurn) else turn)


def _plan(plan: Plan) -> str:
    rows = [
        (
            segment.type if segment.summary_id is None else f"summary {segment.summary_id}",
            "" if segment.message_ids is None else f"{segment.message_ids[0]}-{segment.message_ids[1] - 1}",
            f"{segment.tokens:,}",
            "yes" if segment.is_in_prefix else "no",
            segment.reason,
        )
        for segment in plan.segments
    ]
    said = f"{plan.used_tokens:,} of {plan.limit_tokens:,} tokens for {plain(plan.model)}"
    if plan.problem is not None:
        said += f"\n\n{plain(str(plan.problem))}"
    table = _table(("Part", "Messages", "Tokens", "Sent before", "Why"), rows) if rows else ""
    return f"{table}\n\n{said}" if table else said


def _rules(rules: StandingRules) -> str:
    if not rules.whole.entries:
        return "There are no standing rules. `/pin TEXT` makes one."
    rows = [
        (
            str(entry.id),
            "ordinary text" if is_ordinary(rules, entry.id) else _STATES[entry.state],
            "pin" if entry.is_pin else "rule",
            entry.text,
        )
        for entry in rules.whole.entries
    ]
    return _table(("Id", "State", "Kind", "Text"), rows)


_STATES = {
    RuleState.OPEN: "holds",
    RuleState.SUPERSEDED: "superseded",
    RuleState.WITHDRAWN: "taken back",
}


def _help() -> str:
    rows = [(command.usage, command.help) for command in COMMANDS]
    return _table(("Command", "What it does"), rows) + "\n\nA message that begins with a slash: type a blank before it."


def _range_of(argument: str, usage: str) -> tuple[MessageId, MessageId] | None:
    """`3-7`, both ends included, or nothing for the default."""
    if not argument:
        return None
    match = re.fullmatch(r"(\d{1,9})\s*-\s*(\d{1,9})", argument, re.ASCII)
    if match is None or int(match[1]) > int(match[2]):
        raise InvalidRequest(f"Say which messages: {usage}, with the numbers of the first and the last.")
    return MessageId(int(match[1])), MessageId(int(match[2]) + 1)


def _number(argument: str, usage: str) -> int:
    if not (argument.isascii() and argument.isdigit() and len(argument) < 10):
        raise InvalidRequest(f"Say which: {usage}.")
    return int(argument)


def _summary(argument: str, name: str) -> SummaryId:
    return SummaryId(_number(argument, f"{name} N, with a summary's number of /context"))


def _file_of(root: Path, written: str) -> Path:
    """The file a user means: below the workspace folder, where no other place is named."""
    if "\0" in written:
        raise InvalidRequest("Name the file by a path without control characters.")
    return root / os.path.expanduser(written)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plain(text: str) -> str:
    """Text on one line that Markdown shows as it is: no word of a message becomes a link, a picture or a table."""
    return re.sub(r"([\\`*_{}\[\]<>#|~&])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence} {text} {fence}" if len(fence) > 1 else f"`{text}`"


def _s(duration_ms: int) -> str:
    return f"{duration_ms / 1000:.1f} s"
