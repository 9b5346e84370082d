"""Slash commands in the terminal, the same at a prompt and through pipes.

The server runs a command and answers in Markdown. The terminal has a few of its own, which need what only it knows:
the conversation that it shows, the list that it showed last, and when to leave.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from palimpsest.picking import SHOWN_OF_ID, picked
from palimpsest.terminal import texts
from palimpsest.terminal.errors import CommandFailed
from palimpsest.terminal.reading import read_messages, recall
from palimpsest.terminal.render import View, ending, local_time, one_line
from palimpsest.terminal.session import Session, Turn, follow
from palimpsest.wire.areas.adoption import AdoptionAction
from palimpsest.wire.areas.conversations import ConversationInfo, SharingState
from palimpsest.wording import counted, did_you_mean

_COMMAND = re.compile(r"/(\?|[A-Za-z][A-Za-z0-9_-]*(?::\S+)?)(?:\s+(.*))?", re.DOTALL)
_ALIASES = {"list": "resume", "open": "resume", "exit": "quit", "q": "quit", "?": "help", "summarise": "summarize"}


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the terminal's own."""

    name: str
    argument: str
    """How its argument is written; empty when it takes none."""
    help: str
    run: Callable[[Commands, str], Awaitable[None]]

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.argument}".rstrip()


def parse(line: str) -> tuple[str, str] | None:
    """The command's name in lower case, or the prompt of a server as it is written, and the argument, empty when there
    is none; None for a message."""
    match = _COMMAND.fullmatch(line.rstrip())
    if match is None:
        return None
    return match[1] if ":" in match[1] else match[1].lower(), (match[2] or "").strip()


class Commands:
    """Runs commands on a session and shows their answers."""

    def __init__(self, session: Session, view: View) -> None:
        self._session = session
        self._view = view
        self._listed: list[ConversationInfo] = []
        """The list that was shown last: the numbers of `/resume` are its places."""
        self.turn: Turn | None = None
        """The turn that a command started, while it runs: it can be stopped like any turn."""
        self.wants_to_quit = False

    async def run(self, name: str, argument: str) -> None:
        """Raises CommandFailed for an unknown command or a wrong argument, and the errors of the connection."""
        name = _ALIASES.get(name, name)
        if (own := _BY_NAME.get(name)) is not None:
            if argument and not own.argument:
                raise CommandFailed(texts.no_argument(name))
            await own.run(self, argument)
        elif name in (known := await self.known()):
            await self._run_on_server(f"/{name} {argument}".rstrip())
        else:
            raise CommandFailed(texts.no_command(name, did_you_mean(name, known)))

    async def run_aside(self, name: str, argument: str, begin: Callable[[], None]) -> None:
        """Run a command that only shows something, beside a turn. `begin` is called right before it is shown."""
        name = _ALIASES.get(name, name)
        if name in _BY_NAME or name not in await self.known():
            begin()
            await self.run(name, argument)
            return
        done = await self._session.run_command(f"/{name} {argument}".rstrip()).result()
        begin()
        self._view.answer(done.text)

    async def known(self) -> dict[str, tuple[str, str]]:
        """Every command's usage and help by its name, the terminal's own ones last."""
        server = {each.insert_text.strip()[1:]: (each.label, each.detail) for each in await self._session.commands()}
        return server | {command.name: (command.usage, command.help) for command in OWN}

    async def resume(self, conversation: ConversationInfo) -> None:
        """Continue a conversation. An answer that is being written, asked for by another editor, is followed."""
        self._session.conversation_id = conversation.conversation_id
        count = conversation.message_count
        self._view.note(texts.continuing(one_line(conversation.title), count, one_line(conversation.model)))
        await recall(self._session, self._view, is_running=conversation.running_turn_id is not None)
        if (shared := conversation.shared) is not None and shared.state is not SharingState.DETACHED:
            self._view.note(texts.shared_with(one_line(shared.team or "")))
            asked = await self._session.newest_question()  # the server follows closely what somebody reads
            self._session.seen_question = -1 if asked is None else asked.id
            if (writer := shared.writer) is not None and conversation.running_turn_id is None:
                name, work = one_line(writer.name), one_line(writer.work)
                self._view.note(texts.others_write(name, work, is_self=writer.is_self))
        if conversation.running_turn_id is not None:
            self._view.note(texts.ELSEWHERE_WRITTEN)
            result = await follow(self._view, self._session.attach(conversation.running_turn_id))
            if (sentence := ending(result)) is not None:
                self._view.note(sentence)

    async def help(self, argument: str) -> None:
        """The server's page, which knows the user's own commands too, and what only the terminal has."""
        await self._run_on_server("/help")
        on_server = {each.insert_text.strip()[1:] for each in await self._session.commands()}
        own = [(command.usage, command.help) for command in OWN if command.name not in on_server]
        self._view.table(texts.OWN_COLUMNS, own)

    async def new(self, title: str) -> None:
        if title:
            await self._run_on_server(f"/new {title}")
            return
        # It is created by its first message: looking around leaves no empty conversations behind.
        self._session.conversation_id = None
        self._view.note(texts.NEXT_IS_NEW)

    async def choose(self, argument: str) -> None:
        """Continue a conversation of the list, or, for an empty argument, show the list."""
        if not argument:
            await self._list()
            return
        await self.resume(await self.find(argument))

    async def find(self, wanted: str) -> ConversationInfo:
        """The conversation with this number in the list that was shown last, id or title. Raises CommandFailed."""
        if not self._listed:
            self._listed = await self._session.conversations()
        places = picked(wanted, [(each.conversation_id, each.title) for each in self._listed])
        if not places:
            raise CommandFailed(texts.nothing_matches(wanted))
        if len(places) > 1:
            raise CommandFailed(texts.several([(place + 1, self._shown(place)) for place in places]))
        # Read again: messages may have come since the list was shown.
        meant = self._listed[places[0]].conversation_id
        for conversation in await self._session.conversations():
            if conversation.conversation_id == meant:
                return conversation
        raise CommandFailed(texts.NO_LONGER)

    async def _list(self) -> None:
        self._listed = await self._session.conversations()
        if not self._listed:
            self._view.note(texts.NO_CONVERSATIONS)
            return
        rows = [
            (
                f"{number}{'*' if conversation.conversation_id == self._session.conversation_id else ''}",
                conversation.title or texts.UNTITLED,
                str(conversation.message_count),
                local_time(conversation.updated_at),
            )
            for number, conversation in enumerate(self._listed, 1)
        ]
        self._view.table(texts.RESUME_COLUMNS, rows)
        self._view.note(texts.HOW_TO_RESUME)

    def _shown(self, place: int) -> str:
        listed = self._listed[place]
        return f"{listed.conversation_id[:SHOWN_OF_ID]} {one_line(listed.title) or texts.UNTITLED}"

    async def read(self, argument: str) -> None:
        await read_messages(self._session, self._view, argument)

    async def adopt(self, argument: str) -> None:
        offered = await self._session.left_behind()
        if not offered:
            self._view.note(texts.NONE_TO_ADOPT)
            return
        (left, *_) = offered
        if not argument:
            self._view.say(texts.to_adopt(left.path))
            self._view.note(texts.HOW_TO_ADOPT)
        elif argument.lower() in ("yes", "y"):
            done = await self._session.adopt(left, AdoptionAction.ADOPT)
            copied = f"{counted(done.conversation_count, 'conversation')} and {counted(done.pin_count, 'pin')}"
            self._view.note(texts.adopted(copied))
            if done.refused:
                self._view.note(texts.damaged(done.refused))
        elif argument.lower() in ("no", "n"):
            await self._session.adopt(left, AdoptionAction.DECLINE)
            self._view.note(texts.NOT_OFFERED_AGAIN)
        else:
            raise CommandFailed(texts.ADOPT_WRONG)

    async def quit(self, argument: str) -> None:
        self.wants_to_quit = True

    async def _run_on_server(self, text: str) -> None:
        done = await follow(self._view, self._session.run_command(text))
        self._session.conversation_id = done.conversation_id or self._session.conversation_id
        if done.turn_id is not None:
            await self._follow_turn(self._session.started(done.turn_id))
            return
        self._view.answer(done.text)
        if done.draft is not None:
            self._view.draft(done.draft)

    async def _follow_turn(self, turn: Turn) -> None:
        """Show a turn that a command started, to its end."""
        self.turn = turn
        try:
            result = await follow(self._view, turn)
        finally:
            self.turn = None
        if (sentence := ending(result)) is not None:
            self._view.note(sentence)


OWN = (
    Command("help", "", "List the commands.", Commands.help),
    Command("new", "[TITLE]", "Start a new conversation.", Commands.new),
    Command(
        "resume",
        "[N]",
        "List this folder's conversations, or continue one.",
        Commands.choose,
    ),
    Command("read", "[N]", "Show the newest messages, or those from N on.", Commands.read),
    Command("adopt", "[yes|no]", "Bring the conversations of a moved folder here.", Commands.adopt),
    Command("quit", "", "Leave. So does Ctrl-D.", Commands.quit),
)
"""The commands of the terminal's own; one with the name of a server's command replaces it."""
_BY_NAME = {command.name: command for command in OWN}
