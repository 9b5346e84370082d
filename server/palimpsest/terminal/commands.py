"""The slash commands, the same in every mode.

A line is a command when it begins with a slash and a word; `/usr/bin` or a slash behind a blank is a message.
"""

from __future__ import annotations

import difflib
import re
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from palimpsest.picking import SHOWN_OF_ID, picked
from palimpsest.terminal.errors import CommandFailed
from palimpsest.terminal.render import View, ending, local_time, one_line
from palimpsest.terminal.session import Session, Turn, follow
from palimpsest.wire.areas.adoption import AdoptionAction
from palimpsest.wire.areas.commands import RunCommandParams, RunCommandResult
from palimpsest.wire.areas.context import PrepareContextParams, PrepareContextResult, SummarizeParams, SummarizeResult
from palimpsest.wire.areas.conversations import (
    ConversationInfo,
    MessageInfo,
    MessageRole,
    MessageState,
    ReadConversationParams,
    ReadConversationResult,
    RollbackParams,
    RollbackResult,
)
from palimpsest.wire.areas.models import SwitchModelParams, SwitchModelResult
from palimpsest.wire.areas.places import ConversationParams, MessageRange
from palimpsest.wire.areas.recovery import AnswerBreak, BrokenAnswer, RecoveryAction
from palimpsest.wire.areas.usage import ContextStatus, ContextUsage
from palimpsest.wording import counted

_COMMAND = re.compile(r"/([A-Za-z?]+)(?:[ \t]+(.*))?")
_PAGE = 20
_SHOWN_OF_ANSWER = 40
_NOTHING_YET = "Nothing has been said in this conversation yet."


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command as help and completion know it."""

    name: str
    argument: str
    """How its argument is written; empty when it takes none."""
    doc: str
    run: Callable[[Commands, str], Awaitable[None]]


def parse(line: str) -> tuple[str, str] | None:
    """The command's name in lower case and its argument, empty when there is none; None for a message."""
    match = _COMMAND.fullmatch(line.rstrip())
    return (match[1].lower(), (match[2] or "").strip()) if match else None


class Commands:
    """Runs commands on a session and shows what they find."""

    def __init__(self, session: Session, view: View) -> None:
        self._session = session
        self._view = view
        self._listed: list[ConversationInfo] = []
        """What the numbers of `/open` mean: the list that was shown last."""
        self._broken: list[BrokenAnswer] = []
        """What the numbers of `/recover` mean."""
        self.turn: Turn | None = None
        """What a command is answered by, while it is: it can be stopped as any turn can."""
        self.wants_to_quit = False

    async def run(self, name: str, argument: str) -> None:
        """CommandFailed for a command or argument that is none, and the errors of the connection."""
        command = BY_NAME.get(_ALIASES.get(name, name))
        if command is None:
            raise CommandFailed(f"There is no command /{name}. {_suggestion(name)}")
        if argument and not command.argument:
            raise CommandFailed(f"/{name} takes no argument.")
        await command.run(self, argument)

    async def resume(self, conversation: ConversationInfo) -> None:
        """Go on with a conversation. An answer that another editor asked for and that still comes is followed."""
        self._session.conversation_id = conversation.conversation_id
        count = conversation.message_count
        self._view.note(
            f"Going on with “{one_line(conversation.title) or 'untitled'}”"
            f" ({counted(count, 'message')}, {conversation.model})."
        )
        if conversation.running_turn_id is not None:
            self._view.note("An answer is being written already; it is followed here.")
            result = await follow(self._view, self._session.attach(conversation.running_turn_id))
            if (sentence := ending(result)) is not None:
                self._view.note(sentence)

    # ------------------------------------------------------------------------------------------- one method a command

    async def help(self, argument: str) -> None:
        rows = [(f"/{command.name} {command.argument}".rstrip(), command.doc) for command in COMMANDS]
        self._view.table(("Command", "What it does"), rows)
        self._view.note("A message that begins with a slash: type a blank before it.")

    async def new(self, title: str) -> None:
        if title:
            await self._session.create(title=title)
        else:
            self._session.conversation_id = None
        self._view.note("A new conversation begins with your next message.")

    async def list(self, argument: str) -> None:
        self._listed = await self._session.conversations()
        if not self._listed:
            self._view.note("There is no conversation in this folder yet.")
            return
        rows = [
            (
                f"{number}{'*' if conversation.conversation_id == self._session.conversation_id else ''}",
                conversation.conversation_id[:SHOWN_OF_ID],
                conversation.title or "untitled",
                str(conversation.message_count),
                local_time(conversation.updated_at),
                conversation.model,
            )
            for number, conversation in enumerate(self._listed, 1)
        ]
        self._view.table(("No.", "Id", "Title", "Messages", "Changed", "Model"), rows)

    async def open(self, argument: str) -> None:
        if not self._listed:
            self._listed = await self._session.conversations()
        places = picked(argument, [(each.conversation_id, each.title) for each in self._listed])
        if not places:
            raise CommandFailed("Say which conversation: /open N, with a number, an id or a title of /list.")
        if len(places) > 1:
            meant = ", ".join(f"{place + 1} ({one_line(self._listed[place].title) or 'untitled'})" for place in places)
            raise CommandFailed(f"Several conversations begin so: {meant}. /open N, with the number of one.")
        # Asked for again: messages may have come since the list was shown.
        wanted = self._listed[places[0]].conversation_id
        for conversation in await self._session.conversations():
            if conversation.conversation_id == wanted:
                await self.resume(conversation)
                return
        raise CommandFailed("This conversation is no longer there; /list shows which are.")

    async def model(self, name: str) -> None:
        if not name:
            await self._list_models()
        elif self._session.conversation_id is None:
            created = await self._session.create(model=name)
            self._view.note(f"A new conversation with {created.model} begins with your next message.")
        else:
            params = SwitchModelParams(self._session.conversation_id, name)
            done = await self._session.connection.request("palimpsest/model/switch", params, SwitchModelResult)
            sentence = f"The model is {done.model} now; budget {done.old_budget:,} → {done.new_budget:,} tokens."
            if done.needs_summarization:
                sentence += " Older messages will be summarised before the next answer."
            if done.can_restore:
                sentence += f" As originals again: {counted(done.can_restore, 'summarised message')}."
            self._view.note(sentence)
            self._view.note(done.usage.compact)

    async def usage(self, argument: str) -> None:
        usage = await self._session.connection.request("palimpsest/usage", self._conversation(), ContextUsage)
        self._view.say(f"{usage.compact}, {usage.severity.value}")
        self._view.say(f"{usage.model} ({usage.provider}): window {usage.window_tokens:,} tokens")
        self._view.say(f"{usage.reserve_tokens:,} of them kept for the answer; limits from {usage.limits_source.value}")
        self._view.say(
            f"{counted(usage.message_count, 'message')}, {counted(usage.summary_count, 'summary')} in the context"
        )
        if usage.last_summary_at is not None:
            self._view.say(f"last summary {local_time(usage.last_summary_at)}")
        self._view.say(f"tokens counted: {usage.counting.value}")
        self._view.table(("Part", "Tokens"), [(share.kind, f"{share.tokens:,}") for share in usage.by_kind])

    async def context(self, argument: str) -> None:
        params = PrepareContextParams(self._conversation().conversation_id)
        plan = await self._session.connection.request("palimpsest/prepareContext", params, PrepareContextResult)
        rows = [
            (
                segment.type if segment.summary_id is None else f"summary {segment.summary_id}",
                f"{segment.messages.start}-{segment.messages.end - 1}" if segment.messages is not None else "",
                f"{segment.tokens:,}",
                "yes" if segment.is_in_prefix else "no",
                segment.reason,
            )
            for segment in plan.segments
        ]
        if rows:
            self._view.table(("Part", "Messages", "Tokens", "Sent before", "Why"), rows)
        self._view.say(f"{plan.used_tokens:,} of {plan.limit_tokens:,} tokens for {plan.model}")
        if plan.status is ContextStatus.NEEDS_SUMMARIZATION:
            self._view.note(plan.suggestion or "Older messages will be summarised before the next answer.")
        elif plan.status is ContextStatus.RECENT_MESSAGES_TOO_LARGE:
            self._view.note(plan.suggestion or "The newest messages are too long for this model.")

    async def summarize(self, argument: str) -> None:
        call = self._session.connection.call(
            "palimpsest/summarize",
            SummarizeParams(
                self._conversation().conversation_id, _to_range(argument), work_done_token=str(uuid.uuid4())
            ),
            SummarizeResult,
        )
        done = await follow(self._view, call)
        self._view.say(done.reason)
        if done.summary_id is not None:
            self._view.note(f"{done.tokens_before:,} → {done.tokens_after:,} tokens; {done.usage.compact}")

    async def read(self, argument: str) -> None:
        if argument and not (argument.isascii() and argument.isdigit()):
            raise CommandFailed("Say where to begin: /read N, with a message's number.")
        conversation_id = self._conversation().conversation_id
        if argument:
            start = int(argument)
        else:
            # Only to learn how many there are: the newest ones are wanted.
            first = await self._read_page(ReadConversationParams(conversation_id, 0, 1))
            start = max(0, first.conversation.message_count - _PAGE)
        page = await self._read_page(ReadConversationParams(conversation_id, start, _PAGE))
        for message in page.messages:
            self._show_message(message)
        if page.running is not None:
            self._view.note("(an answer is being written)")
            self._view.say(page.running.text)
        if page.next is not None:
            self._view.note(f"There is more: /read {page.next}")
        elif not page.messages:
            self._view.note("There are no messages from there on.")

    async def rename(self, title: str) -> None:
        await self._on_server(f"/rename {title}")

    async def fork(self, argument: str) -> None:
        await self._on_server(f"/fork {argument}")

    async def rollback(self, argument: str) -> None:
        to = _to_number(argument, "/rollback N, with the first message to take back") if argument else None
        params = RollbackParams(self._conversation().conversation_id, to)
        done = await self._session.connection.request("palimpsest/conversation/rollback", params, RollbackResult)
        hidden = done.hidden
        taken = (
            f"Message {hidden.start} is"
            if hidden.start == hidden.end - 1
            else f"Messages {hidden.start} to {hidden.end - 1} are"
        )
        self._view.note(f"{taken} taken back; /read still shows what was said.")
        if done.draft:
            self._view.note("What you had said there:")
            self._view.say(done.draft)

    async def recover(self, argument: str) -> None:
        number, _, word = argument.partition(" ")
        if not argument:
            await self._list_broken()
            return
        action = _ACTIONS.get(word.strip().lower())
        if action is None:
            raise CommandFailed("Say what to do: /recover N continue, /recover N retry, …, keep or discard.")
        self._broken = self._broken or await self._session.broken()
        index = _to_number(number, "/recover N, with a number of /recover") - 1
        if not 0 <= index < len(self._broken):
            raise CommandFailed("There is no such number; /recover lists what broke off.")
        broken = self._broken[index]
        self._broken = []  # what is said or chosen changes the numbers
        if action is RecoveryAction.CONTINUE or action is RecoveryAction.RETRY:
            await self._take(self._session.run_again(broken, action))
            return
        await self._session.settle(broken, action)
        done = "is kept as it is" if action is RecoveryAction.KEEP else "is hidden; /read still shows it"
        self._view.note(f"The answer {done}.")

    async def retry(self, argument: str) -> None:
        await self._take(self._session.go_on(self._conversation().conversation_id, "palimpsest/turn/retry"))

    async def go_on(self, argument: str) -> None:
        await self._take(self._session.go_on(self._conversation().conversation_id, "palimpsest/turn/continue"))

    async def adopt(self, argument: str) -> None:
        offered = await self._session.left_behind()
        if not offered:
            self._view.note("No conversations were left behind that could be brought here.")
            return
        (left, *_) = offered
        if not argument:
            self._view.say(f"The conversations of {left.path}, which is not there any more, can be brought here.")
            self._view.note("/adopt yes copies them; /adopt no does not offer them again.")
        elif argument.lower() in ("yes", "y"):
            done = await self._session.adopt(left, AdoptionAction.ADOPT)
            self._view.note(
                f"Brought: {counted(done.conversation_count, 'conversation')} and {counted(done.pin_count, 'pin')}; "
                "/list shows them."
            )
            if done.refused:
                self._view.note(
                    f"Not sound, so not brought: {', '.join(done.refused)}. `palimpsest rescue` may save them."
                )
        elif argument.lower() in ("no", "n"):
            await self._session.adopt(left, AdoptionAction.DECLINE)
            self._view.note("They are not offered here again; `palimpsest adopt` can still bring them.")
        else:
            raise CommandFailed("Say whether: /adopt yes or /adopt no.")

    async def expand(self, argument: str) -> None:
        await self._on_server(f"/expand {argument}")

    async def regenerate(self, argument: str) -> None:
        await self._on_server(f"/regenerate {argument}")

    async def undo(self, argument: str) -> None:
        await self._on_server("/undo")

    async def redo(self, argument: str) -> None:
        await self._on_server("/redo")

    async def forget(self, argument: str) -> None:
        await self._on_server(f"/forget {argument}")

    async def restore(self, argument: str) -> None:
        await self._on_server(f"/restore {argument}")

    async def pin(self, argument: str) -> None:
        await self._on_server(f"/pin {argument}")

    async def rules(self, argument: str) -> None:
        await self._on_server("/rules")

    async def withdraw(self, argument: str) -> None:
        await self._on_server(f"/withdraw {argument}")

    async def purge(self, argument: str) -> None:
        await self._on_server(f"/purge {argument}")

    async def stats(self, argument: str) -> None:
        await self._on_server("/stats")

    async def search(self, argument: str) -> None:
        await self._on_server(f"/search {argument}")

    async def facts(self, argument: str) -> None:
        await self._on_server(f"/facts {argument}")

    async def layout(self, argument: str) -> None:
        await self._on_server(f"/layout {argument}")

    async def export(self, argument: str) -> None:
        await self._on_server(f"/export {argument}")

    async def _on_server(self, text: str) -> None:
        """A command that is the same in every editor: the server carries it out and answers in Markdown."""
        params = RunCommandParams(text.strip(), self._session.conversation_id)
        done = await self._session.connection.request("palimpsest/command/run", params, RunCommandResult)
        self._view.say(_shown(done.text))
        if done.conversation_id is not None:
            self._session.conversation_id = done.conversation_id

    async def quit(self, argument: str) -> None:
        self.wants_to_quit = True

    # ------------------------------------------------------------------------------------------------------- the rest

    def _conversation(self) -> ConversationParams:
        if self._session.conversation_id is None:
            raise CommandFailed(_NOTHING_YET)
        return ConversationParams(self._session.conversation_id)

    async def _take(self, turn: Turn) -> None:
        """Follows a turn that a command began, to its end."""
        self.turn = turn
        try:
            result = await follow(self._view, turn)
        finally:
            self.turn = None
        if (sentence := ending(result)) is not None:
            self._view.note(sentence)

    async def _list_broken(self) -> None:
        self._broken = await self._session.broken()
        if not self._broken:
            self._view.note("No answer broke off, or something was done about each.")
            return
        rows = [
            (
                str(number),
                broken.title or "untitled",
                _BREAKS[broken.class_],
                f"{broken.text_length:,}",
                local_time(broken.ended_at),
                broken.text[-_SHOWN_OF_ANSWER:],
            )
            for number, broken in enumerate(self._broken, 1)
        ]
        self._view.table(("No.", "Title", "How", "Characters", "When", "Its end"), rows)
        self._view.note("/recover N continue, keep, discard or retry does something about one of them.")

    async def _list_models(self) -> None:
        rows = [
            (
                model.name + (" (default)" if model.is_default else ""),
                model.provider,
                f"{model.window_tokens:,}",
                "yes" if model.is_available else f"no: {model.hint}" if model.hint else "no",
            )
            for model in (await self._session.models()).models
        ]
        self._view.table(("Model", "Provider", "Window", "Available"), rows)

    async def _read_page(self, params: ReadConversationParams) -> ReadConversationResult:
        return await self._session.connection.request("palimpsest/conversation/read", params, ReadConversationResult)

    def _show_message(self, message: MessageInfo) -> None:
        state = "" if message.state is MessageState.COMPLETE else f", {message.state.value}"
        state += ", purged" if message.is_purged else ", taken back" if message.is_hidden else ""
        self._view.note(f"[{message.id}] {message.role.value}, {local_time(message.created_at)}{state}")
        if message.text and message.role is not MessageRole.TOOL:
            self._view.say(message.text)
        for part in message.parts:
            if part.type == "tool_call":
                self._view.note(f"→ {one_line(part.name or 'tool')} {one_line(part.arguments or '')}".rstrip())
            elif part.type == "tool_result":
                first, _, rest = (part.text or "").partition("\n")
                self._view.note(f"← {one_line(part.name or 'tool')} {one_line(first)}{' …' if rest else ''}".rstrip())
            elif part.type == "attachment":
                self._view.note(f"+ {one_line(part.name or 'attachment')}")


def _to_range(argument: str) -> MessageRange | None:
    """`3-7`, both ends included, or nothing for the default."""
    if not argument:
        return None
    match = re.fullmatch(r"(\d{1,9})\s*-\s*(\d{1,9})", argument, re.ASCII)
    if match is None or int(match[1]) > int(match[2]):
        raise CommandFailed("Say which messages: /summarize A-B, with the numbers of the first and the last.")
    return MessageRange(int(match[1]), int(match[2]) + 1)


def _to_number(argument: str, usage: str) -> int:
    if not (argument.isascii() and argument.isdigit() and len(argument) < 10):
        raise CommandFailed(f"Say which: {usage}.")
    return int(argument)


def _suggestion(name: str) -> str:
    starting = [known for known in BY_NAME if known.startswith(name)]
    near = starting or difflib.get_close_matches(name, BY_NAME, 1, 0.5)
    return f"Did you mean /{near[0]}?" if near else "/help lists them."


_ACTIONS = {action.value: action for action in RecoveryAction}
_BREAKS = {
    AnswerBreak.COMPLETE: "results of its tools are missing",
    AnswerBreak.ERRORED: "it failed",
    AnswerBreak.INCOMPLETE: "its server ended",
}
COMMANDS = (
    Command("help", "", "List the commands.", Commands.help),
    Command("new", "[TITLE]", "Begin another conversation.", Commands.new),
    Command("list", "", "List this folder's conversations.", Commands.list),
    Command("open", "N", "Go on with a conversation of the list: its number, id or title.", Commands.open),
    Command("model", "[NAME]", "List the models, or go on with another one.", Commands.model),
    Command("usage", "", "Show how full the context is.", Commands.usage),
    Command("context", "", "Show what the next request would hold, and why.", Commands.context),
    Command("summarize", "[A-B]", "Summarise older messages now.", Commands.summarize),
    Command("read", "[N]", "Show the newest messages, or those from N on.", Commands.read),
    Command("expand", "N", "Put what a summary stands for back into the context.", Commands.expand),
    Command("regenerate", "N", "Write a summary again.", Commands.regenerate),
    Command("undo", "", "Take the last change of summaries back; again: the one before it.", Commands.undo),
    Command("redo", "", "Take the last undo back.", Commands.redo),
    Command("rename", "TITLE", "Name this conversation.", Commands.rename),
    Command("fork", "[N]", "Go on from message N in another conversation.", Commands.fork),
    Command("rollback", "[N]", "Take back the newest message, or those from N on.", Commands.rollback),
    Command(
        "purge",
        "[A-B] [yes]",
        "Say what deleting messages for good would take; yes: delete them.",
        Commands.purge,
    ),
    Command("continue", "", "Go on with the last answer where it broke off.", Commands.go_on),
    Command("retry", "", "Answer the last message again.", Commands.retry),
    Command(
        "recover", "[N WHAT]", "List answers that broke off; continue, keep, discard or retry one.", Commands.recover
    ),
    Command("adopt", "[yes|no]", "Bring the conversations that a moved folder left behind.", Commands.adopt),
    Command("pin", "TEXT", "Make a rule hold in every conversation of this folder.", Commands.pin),
    Command("rules", "", "List the standing rules and pins.", Commands.rules),
    Command("withdraw", "ID", "Take a standing rule or a pin back.", Commands.withdraw),
    Command("search", "TEXT", "Find messages of this folder's conversations.", Commands.search),
    Command("facts", "[TEXT]", "List the newest facts of this folder, or find some.", Commands.facts),
    Command("forget", "N", "Forget fact N; it can be restored for 30 days.", Commands.forget),
    Command("restore", "[N]", "List the facts that were forgotten, or restore one.", Commands.restore),
    Command("layout", "[NAME]", "Lay this conversation out as log or librarian.", Commands.layout),
    Command("stats", "", "Show what summarising has saved, and what it cost.", Commands.stats),
    Command("export", "[PATH]", "Write this conversation to a file.", Commands.export),
    Command("quit", "", "Leave.", Commands.quit),
)
BY_NAME = {command.name: command for command in COMMANDS}
_ALIASES = {"exit": "quit", "q": "quit", "?": "help", "summarise": "summarize"}


def _shown(markdown: str) -> str:
    """Markdown as its source, without the marks that keep a sign from meaning something to Markdown."""
    return re.sub(r"\\([\\`*_{}\[\]<>#|~&])", r"\1", markdown)
