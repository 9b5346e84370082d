"""An editor that is asked before a tool changes something, that applies edits and brings tools, and its user.

They say yes or no, at once, late, twice or never, and change their mind about everything else meanwhile.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from tests.simulation.calls import MARK, Call, Calls
from tests.simulation.editor import Editor, Message, Policy, Reply
from tests.simulation.editor_kinds import folder, policy
from tests.simulation.folder import Files
from tests.simulation.world import Server, World

TOOLS: Final = ("look", "reload", "rename")
"""The first changes nothing."""
_REFUSALS: Final[tuple[Message, ...]] = (
    {"error": {"code": -32601, "message": "no such method"}},
    {"error": {"code": -32803, "message": "The window is gone."}},
    {"result": {"answer": "maybe"}},
    {"result": None},
)
_CANCELLED: Final[Message] = {"error": {"code": -32800, "message": "cancelled"}}
_HANDLED: Final = ("palimpsest/approval/request", "palimpsest/tools/run", "workspace/applyEdit")


@dataclass(eq=False, slots=True)
class Asked:
    """A request of the server."""

    id: int
    params: Message
    call: Call | None
    is_withdrawn: bool = False
    is_answered: bool = False


@dataclass(eq=False, slots=True)
class Desk:
    """One connection, and who sits there."""

    world: World
    kind: int
    editor: Editor = field(init=False)
    asked: dict[int, Asked] = field(default_factory=dict)
    has_folder: bool = True
    trusts: bool = True
    versions: dict[str, int] = field(default_factory=dict)
    """Of the documents it holds open, by URI."""
    texts: dict[str, str] = field(default_factory=dict)

    def connect(self, server: Server, number: int, v: random.Random) -> None:
        self.editor = Editor(self.world, server, number, _policy(self.world, self.kind))
        self.editor.on_message = self._hear
        self.editor.on_sent = self.world.part(Calls).sent
        self.editor.manners.hears_changes = v.random() < 0.5
        workspace: Message = {"applyEdit": True, "workspaceFolders": True}
        workspace["workspaceEdit"] = {"documentChanges": True, "resourceOperations": ["create"]}
        experimental = {"palimpsest": {"notifications": True}} if self.editor.manners.hears_changes else {}
        options = {"trust": True, "settings": {"variant": self.world.variant % 8, "programs": True}}
        params = {
            "processId": None,
            "rootUri": None,
            "workspaceFolders": [folder(self.world.root)],
            "capabilities": {"workspace": workspace, "experimental": experimental},
            "initializationOptions": {"palimpsest": options},
        }
        self.editor.request("initialize", params, may_fail=False)
        self.editor.notify("initialized", {})
        self.bring(v)
        self.editor.request("palimpsest/conversation/list", {})  # from here on it has the folder

    # ---------------------------------------------------------------------------------------------- what the user does

    def bring(self, v: random.Random) -> None:
        tools: list[Message] = [
            {"name": name, "description": "Does it.", "parameters": {}, "isReadOnly": name == TOOLS[0]}
            for name in TOOLS
            if v.random() < 0.8
        ]
        self.editor.request("palimpsest/tools/register", {"tools": tools})

    def trust(self, *, is_trusted: bool) -> None:
        self.trusts = is_trusted
        params = {"folderUri": self.world.root.as_uri(), "isTrusted": is_trusted}
        self.editor.notify("palimpsest/didChangeTrust", params)

    def open_folder(self, *, is_open: bool) -> None:
        self.has_folder = is_open
        self.editor.manners.has_closed_folder |= not is_open
        event: Message = {"added": [], "removed": []}
        event["added" if is_open else "removed"] = [folder(self.world.root)]
        self.editor.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        if is_open:
            self.editor.request("palimpsest/conversation/list", {})

    def switch_programs(self, *, are_on: bool) -> None:
        settings = {"palimpsest": {"variant": self.world.variant % 8, "programs": are_on}}
        self.editor.notify("workspace/didChangeConfiguration", {"settings": settings})

    def hold(self, path: str) -> None:
        """Opens a file, or types at its end."""
        uri = self.world.part(Files).place(path).as_uri()
        if uri not in self.versions:
            text = self.world.part(Files).read(path)
            if text is not None:
                self._open(uri, text)
        else:
            self._change(uri, f"{self.texts[uri]}# {self.versions[uri]}\n")

    def _open(self, uri: str, text: str) -> None:
        self.versions[uri], self.texts[uri] = 1, text
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        self.editor.notify("textDocument/didOpen", {"textDocument": document})

    def _change(self, uri: str, text: str) -> None:
        self.versions[uri] += 1
        self.texts[uri] = text
        document = {"uri": uri, "version": self.versions[uri]}
        params = {"textDocument": document, "contentChanges": [{"text": text}]}
        self.editor.notify("textDocument/didChange", params)

    # ----------------------------------------------------------------------------------------- what the server asks for

    def _hear(self, message: Message) -> None:
        method, params = message.get("method"), message.get("params")
        if method == "$/cancelRequest":
            self._withdraw(message["params"]["id"])
        elif method in _HANDLED:
            assert isinstance(params, dict)
            calls = self.world.part(Calls)
            asked = self.asked[message["id"]] = Asked(message["id"], params, None)
            if method == "palimpsest/approval/request":
                asked.call = calls.asked(params)
                self._consider(asked)
            elif method == "palimpsest/tools/run":
                found = MARK.findall(str(params["arguments"]))
                asked.call = calls.all.get(found[0]) if found else None
                self._run(asked)
            else:
                self._apply(asked)

    def _withdraw(self, message_id: int) -> None:
        asked = self.asked.get(message_id)
        if asked is None:
            return
        if asked.is_withdrawn:
            self.world.problem("withdrawn twice", str(asked.params.get("title")))
        asked.is_withdrawn = True

    def _say(self, asked: Asked, reply: Message) -> None:
        answer = (reply.get("result") or {}).get("answer")
        if answer is not None and asked.call is not None and self.editor.is_connected:
            if not asked.is_withdrawn and not asked.is_answered and self.has_folder:
                self.world.part(Calls).answered(asked.call, asked.params, answer)
        asked.is_answered = True
        self.editor.send({"jsonrpc": "2.0", "id": asked.id} | reply)

    def _later(self, delay_s: float, function: Callable[[], None]) -> None:
        if delay_s:
            self.world.loop.call_later(delay_s, function, context=self.editor.node.context)
        else:
            function()

    def _chance(self, asked: Asked, what: str) -> random.Random:
        key = asked.call.key if asked.call is not None else str(asked.id)
        return random.Random(zlib.crc32(f"{self.kind} {what} {key} {asked.id}".encode()))

    def _consider(self, asked: Asked) -> None:
        v = self._chance(asked, "asked")
        answer = v.choices(("once", "always", "deny", "never", "refuse"), (12, 5, 4, 1, 2))[0]
        reply = v.choice(_REFUSALS) if answer == "refuse" else {"result": {"answer": answer}}
        how = v.choices(
            ("plain", "twice", "stops", "gives up", "leaves", "distrusts", "closes", "switches", "types"),
            (14, 2, 2, 2, 1, 1, 1, 1, 1),
        )[0]
        delay_s = v.choice((0.0, 0.0, 0.0, 0.5, 5.0, 40.0))
        stop = {"turnId": asked.params["turnId"]}

        def say() -> None:
            if asked.is_withdrawn and v.random() < 0.5:
                reply.clear()
                reply.update(_CANCELLED)
            self._say(asked, reply)
            if how == "twice":
                self._say(asked, {"result": {"answer": v.choice(("once", "deny", "always"))}})

        reply = dict(reply)
        match how:
            case "gives up":
                self._later(90.0, lambda: _nothing(self.editor.request("palimpsest/turn/cancel", stop)))
                return
            case "leaves":
                self._later(delay_s, (self.editor.vanish, self.editor.hang_up, self.editor.shut_down)[v.randrange(3)])
                return
            case "stops":
                self.editor.request("palimpsest/turn/cancel", stop)
            case "distrusts":
                self.trust(is_trusted=False)
            case "closes":
                self.open_folder(is_open=False)
            case "switches":
                self.switch_programs(are_on=False)
            case "types" if asked.params["tool"] == "propose_edit":
                self.hold(asked.params["covers"].removeprefix("edits of "))
        self._later(delay_s, say)

    def _run(self, asked: Asked) -> None:
        v = self._chance(asked, "run")
        how = v.choices(("done", "fails", "leaves", "error"), (8, 2, 1, 1))[0]
        if how == "leaves":
            self.editor.vanish()
            return

        def say() -> None:
            if how == "done" and asked.call is not None:
                asked.call.n_done += 1
            result = {"text": "It is done.", "isError": how == "fails"}
            self._say(asked, {"result": result} if how != "error" else dict(_REFUSALS[1]))

        self._later(v.choice((0.0, 0.0, 0.5, 20.0)), say)

    def _apply(self, asked: Asked) -> None:
        v = self._chance(asked, "apply")
        delay_s = v.choice((0.0, 0.0, 0.3))
        if v.random() < 0.05:
            self.editor.vanish()
            return

        def say() -> None:
            # As an editor: what is typed meanwhile counts, and an edit of another version is refused.
            applied = v.random() < 0.9 and self._edit(asked.params["edit"]["documentChanges"], v)
            self._say(asked, {"result": {"applied": applied}})

        self._later(delay_s, say)

    def _edit(self, changes: list[Any], v: random.Random) -> bool:
        files = self.world.part(Files)
        *creations, changed = changes
        uri, version = changed["textDocument"]["uri"], changed["textDocument"]["version"]
        path = uri.removeprefix(f"{self.world.root.as_uri()}/")
        if creations:
            if files.read(path) is not None or uri in self.texts:
                return False
            before = ""
        elif version is not None:
            if self.versions.get(uri) != version:
                return False
            before = self.texts[uri]
        else:
            before = self.texts.get(uri) or files.read(path) or ""
        after = _with(before, changed["edits"])
        for mark in sorted({mark for edit in changed["edits"] for mark in MARK.findall(edit["newText"])}):
            if (call := self.world.part(Calls).all.get(mark)) is not None:
                call.n_done += 1
                if mark in before:
                    self.world.problem("edited twice", mark)
        if uri in self.versions:
            self._change(uri, after)
        else:
            self._open(uri, after)
        if v.random() < 0.6:
            files.write(path, after, v)
        return True


def _nothing(_: object) -> None: ...


def _with(text: str, edits: list[Any]) -> str:
    """The text with edits that do not overlap, the last first."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def at(position: Message) -> int:
        return int(starts[position["line"]] + position["character"])

    for edit in sorted(edits, key=lambda each: at(each["range"]["start"]), reverse=True):
        text = text[: at(edit["range"]["start"])] + edit["newText"] + text[at(edit["range"]["end"]) :]
    return text


def _policy(world: World, kind: int) -> Policy:
    """The answer to a request that the desk does not handle itself."""
    otherwise = policy(world, kind)

    def reply(method: str, params: Any) -> tuple[float, Reply]:
        return (0.0, None) if method in _HANDLED else otherwise(method, params)

    return reply
