"""Editors that speak to servers over the Language Server Protocol, in order and out of it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.areas.chat import Look, Looks, script, text_of
from tests.simulation.asking import BROKEN, REQUESTS, WRONG
from tests.simulation.editor import Editor, Message
from tests.simulation.editor_kinds import capabilities, folder, options, policy
from tests.simulation.editors import Editors, end_process
from tests.simulation.manners import Asked
from tests.simulation.operations import Kind, Op
from tests.simulation.world import Server, World

from palimpsest.domain.messages import TurnId

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

_MOST_EDITORS: Final = 3
_MOST_SERVERS: Final = 3
_MOST_CONVERSATIONS: Final = 5


# ----------------------------------------------------------------------------------------------------------- connecting


def _connect(world: World, op: Op) -> None:
    editors, v = world.part(Editors), op.chance("connect")
    if len(editors.connected) >= _MOST_EDITORS:
        return
    server = server_for(world, v)
    kind = v.randrange(1 << 16)
    editor = Editor(world, server, len(editors.all), policy(world, kind), fails_to_load=v.random() < 0.05)
    editor.is_patient = v.random() < 0.9
    editors.add(editor)
    if v.random() < 0.1:
        editor.request("palimpsest/model/list", {})  # too early
    editor.manners.hears_changes = v.random() < 0.7
    folders = v.choice(((world.root,), (world.root,), (world.root, editors.other), (editors.other,), ()))
    params = {
        "processId": None,
        "clientInfo": {"name": v.choice(("editor", "Neovim", "Visual Studio Code"))},
        "rootUri": v.choice((None, world.root.as_uri(), world.root.as_uri())),
        "capabilities": capabilities(v, is_told=editor.manners.hears_changes),
        **({"workspaceFolders": [folder(each) for each in folders]} if v.random() < 0.7 else {}),
        **v.choice(({}, {"initializationOptions": options(v, world)})),
    }
    editor.request("initialize", params, may_fail=False)
    if v.random() < 0.9:  # some forget it
        editor.notify("initialized", {})


def _one(world: World, op: Op) -> Editor:
    """One of the editors; a new one when there is none."""
    editors = world.part(Editors)
    if not editors.connected:
        _connect(world, op)
    return editors.connected[op.a % len(editors.connected)]


def server_for(world: World, v: random.Random) -> Server:
    """Most editors have a server of their own; some share one."""
    shared = [each for each in world.servers if not each.is_private]
    if len(world.servers) >= _MOST_SERVERS or v.random() < 0.6:
        return shared[v.randrange(len(shared))] if shared else world.add_server()
    server = world.add_server()
    server.is_private = v.random() < 0.7
    return server


# ------------------------------------------------------------------------------------------------------------- chatting


def _say(world: World, op: Op) -> None:
    editors = world.part(Editors)
    editor = _one(world, op)
    v = op.chance("say")
    if editors.sent and v.random() < 0.15:
        params = dict(v.choice(editors.sent))
    else:
        word, text = text_of(op)
        world.service.scripts.setdefault(word, script(op))
        params = {"requestId": f"request {op.number}", "text": text}
        if len(world.conversations) >= _MOST_CONVERSATIONS or v.random() < 0.85:
            params["conversationId"] = editors.conversation(op)
        else:
            params["folder"] = v.choice((world.root, world.root, editors.other)).as_uri()
        editors.sent.append(params)
    _follow(editors, editor, "palimpsest/chat", params, v)


def _attach(world: World, op: Op) -> None:
    editors = world.part(Editors)
    editor = _one(world, op)
    if not editors.turns:
        return
    v = op.chance("attach")
    turn_id, seen = list(editors.turns.items())[-1 - op.b % min(3, len(editors.turns))]
    params: Message = {"turnId": turn_id}
    if seen and v.random() < 0.5:
        params["afterSeq"] = v.choice(seen)
    _follow(editors, editor, "palimpsest/turn/attach", params, v)


def _follow(editors: Editors, editor: Editor, method: str, params: Message, v: random.Random) -> None:
    """Asks for something that streams a turn."""
    world = editors.world
    number = editor._ids
    stream = f"stream {number}" if v.random() < 0.8 else None
    progress = number + 1_000_000 if v.random() < 0.6 else None
    shown: list[str] = []
    looks: list[Look] = []

    def begin(turn_id: str) -> None:
        editors.turns.setdefault(turn_id, [])
        if "afterSeq" in params:
            editors.tails.append((turn_id, shown))
        elif not looks:
            looks.append(Look(TurnId(turn_id), editor.server, shown))
            world.part(Looks).extend(looks)

    def hear(delta: Message) -> None:
        if delta["type"] == "turn":
            begin(delta["turnId"])
            editors.learn(delta["conversationId"], is_here=_is_here(world, delta["conversationId"]))
        elif looks:
            editors.turns[looks[0].turn_id].append(delta["seq"])
        if delta["type"] == "text":
            shown.append(delta.get("text", ""))

    def end(message: Message) -> None:
        result = message.get("result")
        turn_id = result["turnId"] if result else (message["error"].get("data") or {}).get("turnId")
        if turn_id is None:
            return
        if "requestId" in params and editors.turn_of.setdefault(params["requestId"], turn_id) != turn_id:
            world.problem("two turns for one request", params["requestId"])
        begin(turn_id)
        if stream is None and result:
            shown.append(result.get("text") or "")
        for look in looks:
            look.saw_end = stream is not None or bool(result)

    tokens = {"partialResultToken": stream, "workDoneToken": progress}
    if method == "palimpsest/turn/attach":
        del tokens["workDoneToken"]
        progress = None
    sent = params | {name: token for name, token in tokens.items() if token is not None}
    editor.request(method, sent, end, stream=stream, progress=progress, on_partial=hear)


def _is_here(world: World, conversation_id: str) -> bool:
    """Whether it is kept for the folder that all of the simulation looks at."""
    return bool(world.part(Editors).ask("SELECT 1 FROM conversation WHERE id = ?", conversation_id))


def _stop(world: World, op: Op) -> None:
    editors = world.part(Editors)
    editor = _one(world, op)
    if editors.turns:
        turns = list(editors.turns)
        editor.request("palimpsest/turn/cancel", {"turnId": turns[-1 - op.b % min(3, len(turns))]})


def _take_back(world: World, op: Op) -> None:
    editor = _one(world, op)
    v = op.chance("take back")
    pending = editor.manners.open_requests()
    if pending and v.random() < 0.8:
        asked: Asked = pending[-1 - op.b % min(3, len(pending))]
        editor.cancel(asked.id)
    else:
        editor.cancel(v.choice((*editor.manners.asked, "never asked", 99_999)))


# --------------------------------------------------------------------------------------------------------------- asking


def _ask(world: World, op: Op) -> None:
    editors = world.part(Editors)
    editor, v = _one(world, op), op.chance("ask")
    for _ in range(v.choice((1, 2, 4))):
        _ask_one(editors, editor, op, v)


def _ask_one(editors: Editors, editor: Editor, op: Op, v: random.Random) -> None:
    world = editors.world
    method = v.choice(list(REQUESTS))
    folder = v.choice((world.root, world.root, world.root, editors.other))
    params = REQUESTS[method](v, editors.conversation(op), folder)
    if method in ("palimpsest/turn/continue", "palimpsest/turn/retry"):
        _follow(editors, editor, method, params, v)
        return
    if method == "palimpsest/summarize" and v.random() < 0.5:
        token = f"summary {editor._ids}"
        editor.request(method, params | {"workDoneToken": token}, progress=token)
        return

    def learn(message: Message) -> None:
        found = message.get("result")
        if isinstance(found, dict) and isinstance(found.get("conversationId"), str) and "folder" in found:
            editors.learn(found["conversationId"], is_here=found["folder"] == world.root.as_uri())

    editor.request(method, params, learn)


def _garble(world: World, op: Op) -> None:
    editor = _one(world, op)
    v = op.chance("garble")
    pending = editor.manners.open_requests()
    what = v.random()
    if what < 0.45:
        body, is_answered = v.choice(BROKEN)
        editor.manners.n_nameless += is_answered
        editor.send_body(body)
    elif what < 0.85 or not pending:
        method, params = v.choice(WRONG)
        editor.request(method, params)
    else:
        editor.request("palimpsest/model/list", {}, message_id=pending[-1].id)


def _configure(world: World, op: Op) -> None:
    editors = world.part(Editors)
    editor = _one(world, op)
    v = op.chance("configure")
    root, other = folder(world.root), folder(editors.other)
    match v.randrange(6):
        case 0 | 1:
            settings: Any = v.choice(({"palimpsest": {"variant": v.randrange(8)}}, {"palimpsest": []}, {}, None, []))
            editor.notify("workspace/didChangeConfiguration", {"settings": settings})
        case 2:
            params = {"folderUri": v.choice((root, other))["uri"], "isTrusted": v.random() < 0.5}
            editor.notify("palimpsest/didChangeTrust", params)
        case 3 | 4:
            event = {"added": [v.choice((root, root, other))], "removed": []}
            editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        case _:
            event = {"added": v.choice(([], [other])), "removed": [v.choice((root, other))]}
            editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})


# -------------------------------------------------------------------------------------------------------------- leaving


def _leave(world: World, op: Op) -> None:
    editor = _one(world, op)
    match op.b % 8:
        case 0 | 1 | 2:
            editor.shut_down()
        case 3:
            editor.exit()
        case 4 | 5:
            editor.vanish()
        case 6:
            editor.hang_up()
        case _:
            editor.request("shutdown", None)
            editor.request("palimpsest/model/list", {})
            editor.exit()


def _crash(world: World, op: Op) -> None:
    if world.servers:
        world.kill(world.servers[op.a % len(world.servers)])


def _terminate(world: World, op: Op) -> None:
    """A server process is told to end, as by SIGTERM."""
    if not world.servers:
        return
    server = world.servers[op.a % len(world.servers)]
    if any(request.server is server and not request.is_answered for request in world.requests):
        return
    editors = [each for each in world.part(Editors).all if each.server is server and not each.serving.done()]
    for editor in editors:
        editor.manners.is_ending = True
        world.loop.call_soon(editor.ls.request_stop, 0, context=server.node.context)
    if not server.is_private:

        async def end() -> None:
            for editor in editors:
                await editor.serving
            await server.folders.close()

        ending = world.loop.spawn(server.node, end())
        server.is_private = True
        server.is_busy.append(lambda: not ending.done())
        ending.add_done_callback(lambda _: end_process(world, server))


# ---------------------------------------------------------------------------------------------------------------- looks


def look(world: World, oracle: Oracle) -> None:
    """When nothing is under way."""
    if Editors not in world._parts:
        return
    editors = world.part(Editors)
    for editor in editors.all:
        if editor.is_connected:
            editor.manners.look()
    stored: dict[str, str] = {}
    rows = [*oracle.view.rows.values(), *(editors.rows_elsewhere() if editors.tails else ())]
    for row in sorted(rows, key=lambda row: row.id):
        if row.turn is not None and row.role.value == "assistant":
            stored[row.turn] = stored.get(row.turn, "") + ("\0" if row.is_purged else row.text)
    for turn_id, shown in editors.tails:
        text = stored.get(turn_id, "")
        if "\0" not in text and "".join(shown) not in text:
            world.problem("shown and stored differ", f"from the middle: {len(''.join(shown))} of {len(text)}")
    for server in world.servers:
        folders = server.folders
        if left := [root.name for root in folders._sessions if root not in folders._holders]:
            world.problem("folder left open", str(left))


def end(world: World, oracle: Oracle) -> None:
    """Everybody leaves."""
    if Editors not in world._parts:
        return
    for number, editor in enumerate(world.part(Editors).connected):
        (editor.shut_down, editor.vanish, editor.hang_up)[number % 3]()
    world.settle()
    oracle.look()
    look(world, oracle)


KINDS: Final = {
    "connect": Kind(20, _connect),
    "say": Kind(30, _say),
    "watch": Kind(6, _attach, is_late=True),
    "halt": Kind(4, _stop, is_late=True),
    "take back": Kind(8, _take_back, is_late=True),
    "ask": Kind(40, _ask),
    "garble": Kind(8, _garble),
    "configure": Kind(8, _configure),
    "leave": Kind(8, _leave),
    "crash": Kind(3, _crash),
    "terminate": Kind(2, _terminate),
}
