"""Chatting, stopping, following, and what may be done with an answer that broke off."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.simulation.operations import Kind, Op, of_conversation, one_of, server_of
from tests.simulation.service import LARGE, SMALL, Reply
from tests.simulation.world import Request, Server, World

from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import ErrorKind, InvalidRequest, ProviderError
from palimpsest.domain.messages import ConversationId, TurnId, user_message
from palimpsest.domain.models.provider import Finished, StopReason, TextDelta, TokenUsage, ToolArguments, ToolCallStart
from palimpsest.domain.turns.journal import EventType, Numbered
from palimpsest.domain.turns.recovery import Resolution
from palimpsest.services.folder.session import FolderSession
from palimpsest.services.turns.recovery import Recovery
from palimpsest.services.turns.running import RunningTurn
from palimpsest.storage.conversation import message_log
from palimpsest.storage.sql import execute

_SENTENCES: Final = (
    "The pump in the north hall was checked again. ",
    "Look at src/pump.py and say why `start_pump` waits. ",
    "It rained all day and the meter shows 17 bars. ",
)


@dataclass(eq=False, slots=True)
class Look:
    """What an editor was shown of a turn by a server, and whether it saw the end."""

    turn_id: TurnId
    server: Server
    said: list[str] = field(default_factory=list)
    saw_end: bool = False


class Looks(list[Look]):
    """All of a world."""

    def __init__(self, world: World) -> None:
        super().__init__()


class Drafts:
    """The drafts of a run: how many were begun, and which may still come."""

    def __init__(self, world: World) -> None:
        self.n_begun = 0
        """How often somebody began to write one."""
        self.left: set[str] = set()
        """What stood in the input of a document that was closed, and may become one at any time."""


class Sent(list[tuple[Op, ConversationId]]):
    """The requests that clients sent to conversations they knew."""

    def __init__(self, world: World) -> None:
        super().__init__()


def text_of(op: Op) -> tuple[str, str]:
    """The word, and the text, of an operation's message."""
    v = op.chance("text")
    word = f"zqword{op.number:04}u"
    size = v.choices((1, 20, 200), (6, 3, 1))[0] * v.randint(1, 9) // 3
    file = v.choice(_FILES)
    opening = (
        f"Never use {word} in the Makefile of this project. " if v.random() < 0.35 else f"What about {word} in {file}? "
    )
    sentence = v.choice(_SENTENCES)
    if size <= 20 or v.random() < 0.3:
        return word, opening + sentence * size
    # Mostly as code, of which no sentence is read for rules: a run takes half the time.
    lines = "".join(f"pump{number} = start_pump({number})  # {sentence}\n" for number in range(size // 2))
    return word, f"{opening}\n```python\n{lines}```\n"


def script(op: Op) -> list[Reply]:
    """The answers of the service, request by request."""
    v = op.chance("script")
    n_steps = v.choices((1, 2, 3), (6, 2, 1))[0]
    replies = [_reply(v, f"zqword{op.number:04}a{step}", is_last=step == n_steps - 1) for step in range(n_steps)]
    if not any(isinstance(each, Finished | Exception) for each in replies[-1]):
        replies[-1].append(Finished(StopReason.END, TokenUsage(output_tokens=9)))
    return replies


_FILES: Final = tuple(f"lib/pump_{number}.py" for number in range(8))
"""Which messages name, so that a step asks for what older ones said of them."""
CALLS: Final = (
    ("recall", '{"query": "pump"}'),
    ("recall", '{"first_message": 0, "last_message": 9}'),
    ("read_file", '{"path": "nothing.py"}'),
    ("unknown", "{"),
)


def _reply(v: random.Random, word: str, *, is_last: bool) -> Reply:
    reply: Reply = [v.choice((0.0, 0.01, 1.0)), TextDelta(f"{word} says what {v.choice(_FILES)} holds: ")]
    for _ in range(v.choice((0, 1, 3))):
        reply += [v.choice((0.0, 0.01)), TextDelta(v.choice(_SENTENCES) * v.randint(0, 20))]
    match v.choices(("end", "calls", "breaks", "refuses", "hangs", "stops"), (8, 5 if is_last else 20, 2, 2, 1, 1))[0]:
        case "calls":
            name, arguments = v.choice((*CALLS, ("read_file", json.dumps({"path": v.choice(_FILES)}))))
            reply += [ToolCallStart(word, name), ToolArguments(word, arguments)]
            reply.append(Finished(StopReason.TOOL_CALLS, TokenUsage(output_tokens=9)))
        case "breaks":
            reply.append(ProviderError(v.choice((ErrorKind.NETWORK, ErrorKind.OVERLOADED)), "The service broke off."))
        case "refuses":
            return [ProviderError(v.choice((ErrorKind.OVERLOADED, ErrorKind.AUTH)), "The service refused.")]
        case "hangs":
            reply.append(15.0)
        case "stops":
            reply.append(Finished(StopReason.OUTPUT_LIMIT, TokenUsage(output_tokens=9)))
        case _:
            reply.append(Finished(StopReason.END, TokenUsage(output_tokens=9)))
    return reply


def begin_chat(world: World, op: Op) -> None:
    chat_about(world, op, *text_of(op))


def chat_about(world: World, op: Op, word: str, text: str) -> None:
    """Sends a message. `word`: the first of its words that only it holds."""

    async def carry_out(request: Request) -> None:
        session = await world.open_folder(request.server)
        world.service.scripts.setdefault(word, script(op))
        content, request_id = user_message(text), f"request {op.number}"
        known = None if op.kind == "new" else await one_of(world, session, op)
        if known is None:
            record = session.conversations.blank()
            at, starting = record.id, session.turns.begin(record, request_id, content)
        else:
            at = known
            world.part(Sent).append((op, at))
            starting = session.turns.start(at, request_id, content)
        drafts = world.part(Drafts)
        n_begun, draft = drafts.n_begun, await _draft(session, at)
        started = await starting
        if draft and draft not in drafts.left and drafts.n_begun == n_begun and await _draft(session, at) == draft:
            world.problem("draft of what was sent", draft[:40])
        if at not in world.conversations:
            world.conversations.append(at)
        await follow_to_the_end(world, request.server, started)

    world.request(op.kind, server_of(world, op), carry_out)


async def _draft(session: FolderSession, at: ConversationId) -> str:
    """Empty where the conversation is not stored yet."""
    found = await session.folder.store.read(_drafts)
    return found.get(at, "")


def _drafts() -> dict[str, str]:
    return dict(execute("SELECT id, draft FROM conversation"))


def _begin_again(world: World, op: Op) -> None:
    """The same request once more, as from a client that did not hear of an answer."""

    async def carry_out(request: Request) -> None:
        session = await world.open_folder(request.server)
        if sent := world.part(Sent):
            before, at = sent[op.b % len(sent)]
            content = user_message(text_of(before)[1])
            started = await session.turns.start(at, f"request {before.number}", content)
            await follow_to_the_end(world, request.server, started)

    world.request(op.kind, server_of(world, op), carry_out)


async def follow_to_the_end(world: World, server: Server, started: RunningTurn | TurnId) -> None:
    """As `lsp.chat.follow_to_the_end`: cancelling the request cancels the turn."""
    if not isinstance(started, RunningTurn):
        return
    try:
        await _watch(world, server, started)
    except asyncio.CancelledError:
        started.cancel()
        await _watch(world, server, started)  # whoever else looks at it sees all that it shows yet
        raise


async def _watch(world: World, server: Server, running: RunningTurn) -> None:
    """Looks at a turn of this server to its end."""
    look = Look(running.id, server)
    world.part(Looks).append(look)
    unfollow = running.follow(_listener(look), 0)
    try:
        await running.wait()
        look.saw_end = True
    finally:
        unfollow()


def _listener(look: Look) -> Callable[[Numbered], None]:
    def listen(each: Numbered) -> None:
        if each.event.type is EventType.TEXT:
            look.said.append(each.event.text)

    return listen


async def _stop(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    for turn_id in await _some_running(session, op):
        if (own := session.folder.running.get(turn_id)) is not None:
            own.cancel()
            await own.wait()
        elif session.folder.following is not None:
            await session.folder.following.cancel(turn_id)


async def _attach(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    for turn_id in await _some_running(session, op):
        if (own := session.folder.running.get(turn_id)) is not None:
            await _watch(world, request.server, own)
        elif session.folder.following is not None:
            look = Look(turn_id, request.server)
            world.part(Looks).append(look)
            await session.folder.following.follow(turn_id, 0, _listener(look))
            look.saw_end = True


async def _some_running(session: FolderSession, op: Op) -> list[TurnId]:
    """One of the turns that run now, whoever runs it; none where there is none."""
    found = [turn for _, turn in await session.conversations.list() if turn is not None]
    return [found[op.b % len(found)]] if found else []


async def _switch(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    await session.conversations.switch_model(at, (SMALL, LARGE)[op.b % 2])


async def _asked(session: FolderSession, at: ConversationId) -> list[StoredMessage]:
    """What the user asked in turns, and was not hidden."""
    found = await session.folder.store.read(message_log.read_user_messages, at, 0)
    return [each for each in found if each.turn_id is not None]


async def _resolve(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    recovery, choice = Recovery(session.turns), Resolution(op.kind)
    asked = {each.id for each in await _asked(session, at)}
    try:
        turn_id = await recovery.last_turn(at)
    except InvalidRequest:
        # Of what somebody asks on another machine, the turn comes when it has ended.
        if asked & {each.id for each in await _asked(session, at)} and len(world.homes) == 1:
            world.problem("request", f"{op.kind}: nothing to go on from")
        raise
    if choice is Resolution.CONTINUE or choice is Resolution.RETRY:
        started: RunningTurn | TurnId | None = await session.turns.go_on(turn_id, choice, at)
    else:
        started = await recovery.resolve(turn_id, choice, "turn" if op.b % 2 else "answer")
    # In a fork nothing changes for the turn that it took along.
    if (turn_id, at) in {(each.turn.id, each.turn.conversation_id) for each in await recovery.unresolved()}:
        world.problem("still to be resolved", op.kind)
    if started is not None:
        await follow_to_the_end(world, request.server, started)


KINDS: Final = {
    "chat": Kind(30, begin_chat),
    "new": Kind(3, begin_chat),
    "again": Kind(2, _begin_again),
    "stop": of_conversation(5, _stop, is_late=True),
    "attach": of_conversation(3, _attach, is_late=True),
    "switch": of_conversation(4, _switch),
    "continue": of_conversation(4, _resolve),
    "retry": of_conversation(3, _resolve),
    "discard": of_conversation(3, _resolve),
}
