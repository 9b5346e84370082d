"""Chat documents: users who type while answers are written into what they type in, in editors of every habit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.areas.chat import Drafts, script
from tests.simulation.areas.edge import server_for
from tests.simulation.document import HABITS, Document
from tests.simulation.editor import Editor, Message, Reply
from tests.simulation.editor_kinds import folder, policy
from tests.simulation.editors import Editors
from tests.simulation.operations import Kind, Op
from tests.simulation.service import WORD
from tests.simulation.world import World

from palimpsest.domain.chat_documents.document import MARKER, escape
from palimpsest.domain.messages import Role
from palimpsest.lsp.features.parts.open_chats import OpenChats

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

_MOST_EDITORS: Final = 3
_HEARD_S: Final = 0.3
"""So soon a server has heard of what another one did."""


class Documents:
    """All of a world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.all: list[Document] = []
        self.habits: dict[Editor, str] = {}
        self.sent: set[str] = set()
        """Words of messages of which a user knows that they were sent, or cannot tell."""
        self.leaving: set[tuple[Editor, Path, str]] = set()
        """Those that an editor sent that lets the server take them out of the input, with the document."""
        self.saved: dict[Path, Document] = {}
        """By path, what was closed last."""

    @property
    def open(self) -> list[Document]:
        return [each for each in self.all if each.is_open and each.editor.is_connected]

    def one(self, op: Op) -> Document | None:
        found = self.open
        return found[op.a % len(found)] if found else None

    def of(self, editor: Editor, uri: str) -> Document | None:
        return next((each for each in self.open if each.editor is editor and each.uri == uri), None)


# ---------------------------------------------------------------------------------------------------------- the editors


def _editor(world: World, op: Op) -> Editor:
    """One of the editors that show documents; now and then a new one."""
    documents, editors, v = world.part(Documents), world.part(Editors), op.chance("editor")
    found = [each for each in documents.habits if each.is_connected]
    if found and (len(found) >= _MOST_EDITORS or v.random() < 0.7):
        return found[op.a % len(found)]
    name = v.choice(list(HABITS))
    habit, otherwise = HABITS[name], policy(world, op.b)

    def answer(method: str, params: Any) -> tuple[float, Reply]:
        if method == "workspace/applyEdit":
            document = documents.of(editor, _uri_of(params))
            refused: Message = {"result": {"applied": False, "failureReason": "It is not open."}}
            return (0.0, refused) if document is None else (habit.apply_s, lambda: document.apply(params))
        if method == "window/showDocument":
            return 0.0, {"result": {"success": True}}
        return otherwise(method, params)

    editor = Editor(world, server_for(world, v), len(editors.all), answer)
    editors.add(editor)
    documents.habits[editor] = name
    editor.server.is_busy.append(lambda: any(each.is_untold for each in documents.open if each.editor is editor))
    params = {"processId": None, "capabilities": habit.capabilities, "workspaceFolders": [folder(world.root)]}
    editor.request("initialize", params | {"rootUri": None}, may_fail=False)
    editor.notify("initialized", {})
    return editor


def _uri_of(params: Message) -> str:
    changes, edit = params["edit"].get("changes"), params["edit"]
    return str(next(iter(changes)) if changes else edit["documentChanges"][0]["textDocument"]["uri"])


def _command(document: Document | Editor, name: str, heard: Any = None, **argument: Any) -> None:
    editor = document if isinstance(document, Editor) else document.editor
    if isinstance(document, Document):
        argument["uri"] = document.uri
    params = {"command": f"palimpsest.{name}", "arguments": [argument] if argument else []}
    editor.request("workspace/executeCommand", params, heard)


# ------------------------------------------------------------------------------------------------------------- the user


def _open(world: World, op: Op) -> None:
    documents, editor, v = world.part(Documents), _editor(world, op), op.chance("open")
    habit = HABITS[documents.habits[editor]]

    def show(message: Message) -> None:
        result = message.get("result")
        if not result or not editor.is_connected or documents.of(editor, result["uri"]) is not None:
            return
        path, conversation_id = Path(result["path"]), result["conversationId"]
        if not path.exists():  # the user has deleted it in another editor
            return
        world.part(Editors).learn(conversation_id, is_here=True)
        document = Document(editor, result["uri"], path, habit, path.read_text(), conversation_id)
        if (before := documents.saved.get(path)) is not None:
            document.typed = {word: stands and word in document.text for word, stands in before.typed.items()}
            document.is_scribbled, document.version_before = before.is_scribbled, before.version
            document.shown |= before.shown
        documents.all.append(document)
        document.open()

    known = world.conversations
    given = {"conversationId": known[op.a // 7 % len(known)]} if known and v.random() < 0.8 else {"title": "Pumps"}
    _command(editor, "chat.open", show, **given, **({"inFolder": True} if v.random() < 0.2 else {}))


def _type(world: World, op: Op) -> None:
    """Mostly a line in the input; sometimes over what was typed, or above the input."""
    if (document := world.part(Documents).one(op)) is None:
        _open(world, op)
        return
    v = op.chance("type")
    word = f"zqword{op.number:04}u"
    world.service.scripts.setdefault(word, script(op))
    line = v.choice((f"What of {word}?\n", f"{word} 🎉 é\n", f"\n```\n{word}\n```\nWhy?\n"))
    at = document.text.find(MARKER)
    start = len(document.text) if at < 0 else min(at + len(MARKER) + 2, len(document.text))
    end = len(document.text)
    match v.randrange(10):
        case 0 if start < end:
            document.type(start, end, line)  # over all that stands in the input
        case 1:
            document.type(start, start, line)
        case 2 if start < end:
            document.type(v.randrange(start, end), end, "")
        case 3 if at > 40:
            place = v.randrange(20, at)
            document.is_scribbled = True
            document.type(place, min(at, place + v.choice((0, 0, 5, 200))), v.choice(("", "x", "scribbled\n")))
        case 4 if at > 40:
            document.is_scribbled = True
            document.type(v.randrange(at), v.randrange(at, end + 1), "")
        case _:
            document.type(end, end, line)
    if MARKER not in document.text:  # all that stands there is the input when it is opened again
        world.kept.update(WORD.findall(document.text))


def _send(world: World, op: Op) -> None:
    if (document := world.part(Documents).one(op)) is None:
        _open(world, op)
        return
    if not document.text.partition(MARKER)[2].strip():
        _type(world, op)
    document.tell()
    words = set(WORD.findall(document.text.partition(MARKER)[2]))
    if document.is_scribbled and not all(document.typed.get(word) for word in words):
        return  # the marker was typed over, so that what stood above stands in the input now: the user sees it
    documents = world.part(Documents)
    if words & documents.sent:
        return  # it stands there because the editor did not take the edit in time, and the user knows it was sent

    def hear(message: Message) -> None:
        takes_edits = document.habit.takes_edits and document.habit.refuses <= 50
        if "turnId" in (message.get("result") or {}):
            documents.sent.update(words)
            documents.leaving.update((document.editor, document.path, word) for word in words if takes_edits)
        elif not takes_edits or document.is_scribbled:
            documents.sent.update(words)  # a send that was cancelled may have come too late, and nothing shows it

    _command(document, "chat.send", hear)


def _stop(world: World, op: Op) -> None:
    if (document := world.part(Documents).one(op)) is not None:
        _command(document, "chat.stop")


def _run(world: World, op: Op) -> None:
    if (document := world.part(Documents).one(op)) is None:
        return
    match op.b % 4:
        case 0:
            _command(document, "chat.show")
        case 1:
            _command(document, "chat.expand", summaryId=1 + op.b // 4 % 4)
        case _:
            name, argument = (("usage", ""), ("help", ""), ("pin", "Keep promise 1."), ("rules", ""))[op.b // 4 % 4]
            _command(document, f"command.{name}", argument=argument)


def _close(world: World, op: Op) -> None:
    documents = world.part(Documents)
    if (document := documents.one(op)) is None:
        return
    world.part(Drafts).left.add(document.text.partition(MARKER)[2].strip())
    if not document.close():
        return
    documents.saved[document.path] = document
    if op.b % 5 == 0:
        document.path.unlink(missing_ok=True)
        del documents.saved[document.path]
    elif op.b % 5 < 4:
        documents.all.append(again := _reopened(document))
        again.open()


def _reopened(document: Document) -> Document:
    text = document.path.read_text()
    again = Document(document.editor, document.uri, document.path, document.habit, text, document.conversation_id)
    again.typed, again.is_scribbled = dict(document.typed), document.is_scribbled
    again.shown |= document.shown
    again.version_before = document.version
    return again


# ---------------------------------------------------------------------------------------------------------------- looks


def look(world: World, oracle: Oracle) -> None:
    """When nothing is under way."""
    if Documents not in world._parts or not world.part(Documents).open:
        return
    world.do(world.servers[0], asyncio.sleep(_HEARD_S))
    world.settle()
    oracle.view.renew()
    for document in world.part(Documents).open:
        document.n_edits = 0
        _look_at(world, oracle, document)


def _look_at(world: World, oracle: Oracle, document: Document) -> None:
    rows = sorted(oracle.view.messages_of(document.conversation_id), key=lambda row: row.id)
    sent = {word for row in rows if row.role is Role.USER for word in row.words}
    has_purged = any(row.is_purged for row in rows)
    for word, stands in document.typed.items():
        n_there = len([each for each in WORD.findall(document.text) if each == word])
        is_purged = has_purged and word in document.shown  # sent and purged between two looks
        if stands and not n_there and word not in sent and not is_purged:
            world.problem("typed text lost", f"{word} {document.habit}")
        n_below = document.text.partition(MARKER)[2].count(word)
        if not document.is_scribbled and n_below > 1:
            world.problem("typed text doubled", f"{word} {document.habit}")
    chat = document.editor.ls.part(OpenChats).chats.get(document.uri)
    if chat is None:
        return
    if chat.document.text != document.text:
        world.problem("editor and server differ", str(document.habit))
    is_held_up = chat.document.is_writing or document.habit.refuses > 50 or not document.habit.takes_edits
    if document.is_scribbled or is_held_up:
        return
    message = document.text.partition(MARKER)[2].strip()
    leaving = world.part(Documents).leaving
    is_leaving = any((document.editor, document.path, word) in leaving for word in WORD.findall(message))
    if is_leaving and any(row.role is Role.USER and row.text.strip() == message for row in rows):
        world.problem("sent and still in the input", f"{message[:40]!r} {document.habit}")
    hidden = [oracle.view.is_hidden(document.conversation_id, row.id) for row in rows]
    above, at = document.text.partition(MARKER)[0], 0
    for row, is_hidden in zip(rows, hidden, strict=True):
        if row.role is Role.TOOL or is_hidden or row.is_purged:
            continue
        found = above.find(escape(row.text), at)
        if found < 0:
            world.problem("not shown", f"message {row.id} ({row.role.value}), {document.habit}")
            return
        at = found + len(row.text)
    shown = {word for row, is_hidden in zip(rows, hidden, strict=True) if not is_hidden for word in row.words}
    # A title outlasts a message that was taken back.
    titles = oracle.view.ask("SELECT title FROM conversation WHERE id = ?", document.conversation_id)
    shown.update(word for (title,) in titles for word in WORD.findall(title or ""))
    if foreign := [each for each in WORD.findall(above) if each not in shown and each in document.typed]:
        world.problem("shown and not stored", f"{foreign[0]} {document.habit}")


KINDS: Final = {
    "open document": Kind(12, _open),
    "type": Kind(40, _type),
    "send": Kind(24, _send),
    "stop document": Kind(4, _stop, is_late=True),
    "run command": Kind(5, _run),
    "close document": Kind(6, _close),
}
