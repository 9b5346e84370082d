"""Tools that change something: users who are asked, programs that run, editors that apply edits and bring tools, while
trust, settings and folders change."""

from __future__ import annotations

import json
import random
import shlex
from typing import TYPE_CHECKING, Final

from tests.simulation.areas.chat import chat_about
from tests.simulation.areas.edge import _follow, server_for
from tests.simulation.calls import BARE, Calls
from tests.simulation.desk import TOOLS, Desk
from tests.simulation.editors import Editors
from tests.simulation.folder import Files
from tests.simulation.operations import Kind, Op
from tests.simulation.service import Reply
from tests.simulation.world import World

from palimpsest.domain.models.provider import Finished, StopReason, TextDelta, TokenUsage, ToolArguments, ToolCallStart

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

_MOST_DESKS: Final = 3
_FILES: Final = ("src/hall.py", "src/meter.py", "lib/valve.py")
_LINES: Final = "".join(f"pump_{number} = {number}\n" for number in range(1, 10))


class Desks:
    """All of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.all: list[Desk] = []
        files, v = world.part(Files), random.Random(f"desks {world.variant}")
        for path in _FILES:
            files.write(path, _LINES, v)

    @property
    def connected(self) -> list[Desk]:
        return [each for each in self.all if each.editor.is_connected]


def _connect(world: World, op: Op) -> None:
    desks, editors, v = world.part(Desks), world.part(Editors), op.chance("desk")
    if len(editors.connected) >= _MOST_DESKS:
        return
    desk = Desk(world, v.randrange(1 << 16))
    desks.all.append(desk)
    desk.connect(server_for(world, v), len(editors.all), v)
    editors.add(desk.editor)


def _one(world: World, op: Op) -> Desk | None:
    """One of the desks; a new one when there is none."""
    if not world.part(Desks).connected:
        _connect(world, op)
    found = world.part(Desks).connected
    return found[op.a % len(found)] if found else None


# -------------------------------------------------------------------------------------------------------------- calling


def _call(world: World, op: Op) -> None:
    """A message that a model answers with calls of tools."""
    desk, v = _one(world, op), op.chance("call")
    word = f"zqword{op.number:04}u"
    world.service.scripts.setdefault(word, _script(world, op, v))
    text = f"What about {word}?"
    if desk is None or v.random() < 0.15:
        chat_about(world, op, word, text)
        return
    if not desk.has_folder and v.random() < 0.8:
        desk.open_folder(is_open=True)
    if not desk.trusts and v.random() < 0.8:
        desk.trust(is_trusted=True)
    editors = world.part(Editors)
    params = {"requestId": f"request {op.number}", "text": text}
    if world.conversations and v.random() < 0.9:
        params["conversationId"] = world.conversations[op.a // 7 % len(world.conversations)]
    editors.sent.append(params)
    _follow(editors, desk.editor, "palimpsest/chat", params, v)


def _script(world: World, op: Op, v: random.Random) -> list[Reply]:
    number = 0
    replies: list[Reply] = []
    for step in range(v.choice((1, 1, 2))):
        reply: Reply = [v.choice((0.0, 0.01, 1.0)), TextDelta(f"zqword{op.number:04}a{step} says: ")]
        for _ in range(v.choice((1, 1, 2, 3))):
            mark = f"call{op.number:04}x{number}"
            name, arguments = _made(world, mark, v)
            reply += [ToolCallStart(f"id-{mark}", name), ToolArguments(f"id-{mark}", json.dumps(arguments))]
            number += 1
        reply.append(Finished(StopReason.TOOL_CALLS, TokenUsage(output_tokens=9)))
        replies.append(reply)
    return replies


def _made(world: World, mark: str, v: random.Random) -> tuple[str, dict[str, object]]:
    calls = world.part(Calls)
    match v.choices(("edit", "new", "command", "bare", "shell", "tool"), (4, 1, 5, 2, 1, 4))[0]:
        case "edit":
            path, n = v.choice(_FILES), v.randint(1, 9)
            calls.make(mark, "propose_edit", f"edits of {path}")
            edits = [{"old_text": f"pump_{n} = ", "new_text": f"pump_{n} = {mark} + "}]
            return "propose_edit", {"path": path, "edits": edits}
        case "new":
            path = f"src/new{v.randint(1, 3)}.py"
            calls.make(mark, "propose_edit", f"edits of {path}")
            return "propose_edit", {"path": path, "content": f"new = '{mark}'\n"}
        case "tool":
            name = v.choice(TOOLS)
            calls.make(mark, f"editor_{name}", f"every call of editor_{name}", is_read_only=name == TOOLS[0])
            return f"editor_{name}", {"what": mark}
        case "bare":
            command: tuple[str, ...] = BARE
            mark = shlex.join(command)
        case "shell":
            command = ("sh", "-c", mark)
        case _:
            command = (*v.choice((BARE, ("valve",))), mark)
    calls.make(mark, "run_command", shlex.join(command))
    timeout = v.choice(({}, {"timeout_s": v.choice((1, 10))}))
    return "run_command", {"command": list(command), **timeout}


# ---------------------------------------------------------------------------------------------------- changing its mind


def _trust(world: World, op: Op) -> None:
    if (desk := _one(world, op)) is not None:
        desk.trust(is_trusted=op.b % 3 > 0)


def _programs(world: World, op: Op) -> None:
    if (desk := _one(world, op)) is not None:
        desk.switch_programs(are_on=op.b % 3 > 0)


def _folder(world: World, op: Op) -> None:
    if (desk := _one(world, op)) is not None:
        desk.open_folder(is_open=not desk.has_folder)


def _bring(world: World, op: Op) -> None:
    if (desk := _one(world, op)) is not None:
        desk.bring(op.chance("bring"))


def _type(world: World, op: Op) -> None:
    if (desk := _one(world, op)) is not None:
        desk.hold(_FILES[op.b % len(_FILES)])


def _write(world: World, op: Op) -> None:
    files, path, v = world.part(Files), _FILES[op.b % len(_FILES)], op.chance("write")
    world.part(Desks)
    files.write(path, f"{files.read(path) or _LINES}# {op.number}\n", v)


def _stop_program(world: World, op: Op) -> None:
    """An impatient user: once is not always enough."""
    running = [turn for program, turn in world.part(Calls).turns.items() if program.is_alive]
    if running and (desk := _one(world, op)) is not None:
        for _ in range(1 + op.b % 3):
            desk.editor.request("palimpsest/turn/cancel", {"turnId": running[-1]})


def _revoke(world: World, op: Op) -> None:
    if (desk := _one(world, op)) is None or not desk.has_folder:
        return
    number = 1 + op.b % 4

    def heard(message: dict[str, object]) -> None:
        if "result" in message:
            world.part(Calls).revoked.add(number)

    desk.editor.request("palimpsest/approval/revoke", {"id": number}, heard)


# ---------------------------------------------------------------------------------------------------------------- looks


def look(world: World, oracle: Oracle) -> None:
    """When nothing is under way."""
    if not world.has(Calls):
        return
    world.part(Calls).look(oracle)
    running = {turn for server in world.servers for each in server.sessions for turn in each.turns.running}
    for desk in world.part(Desks).connected:
        for asked in desk.asked.values():
            if not (asked.is_answered or asked.is_withdrawn) and asked.params.get("turnId") not in running:
                world.problem("question left on a screen", str(asked.params.get("title")))


KINDS: Final = {
    "desk": Kind(10, _connect),
    "call": Kind(40, _call),
    "bring": Kind(2, _bring),
    "distrust": Kind(3, _trust, is_late=True),
    "programs": Kind(2, _programs),
    "close folder": Kind(3, _folder),
    "hold": Kind(4, _type),
    "overwrite": Kind(2, _write, is_late=True),
    "revoke": Kind(4, _revoke),
    "stop program": Kind(8, _stop_program, is_late=True),
}
