"""The generated files say what the declarations say, and nothing can be declared without saying what it means."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from dev.generate_protocol import lua, typescript
from dev.metamodel import DeclarationError, meta_model
from dev.protocol_page import markdown

from dev import ROOT
from palimpsest.wire import messages
from palimpsest.wire.declare import Wire

SOURCE = '''
"""An introduction."""
from __future__ import annotations
from enum import StrEnum
from typing import Any, Literal
import attrs
from palimpsest.wire.declare import Direction, Notification, Request, Wire

class Mode(StrEnum):
    """How | why."""
    FAST = "fast"
    """At once."""
    SLOW = "slow"
    """Later,
    perhaps."""

@attrs.frozen
class Part(Wire):
    """A part."""
    type: Literal["text"]
    """Always this."""
    text: str | None
    """Nullable | required."""

@attrs.frozen
class GoParams(Wire):
    """Where to go."""
    mode: Mode
    """How."""
    max_tokens: int | None = None
    """A limit."""
    token: int | str | None = None
    """A name."""
    parts: list[Part] | None = None
    """Parts."""
    ids: tuple[int, ...] | None = None
    """Ids."""
    either: list[int | str] | None = None
    """Either."""
    sizes: dict[str, float] | None = None
    """Sizes."""
    free: Any | None = None
    """Any."""
    kind: Literal["a", "b"] | None = None
    """One of two."""

@attrs.frozen
class Nothing(Wire):
    """Nothing at all."""

MESSAGES = (
    Request("demo/go/there", GoParams, list[Part], "Go."),
    Request("demo/pick", Nothing, None, "Pick.", Direction.SERVER_TO_CLIENT),
    Notification("demo/didGo", Part, "It went."),
)
'''


def load(source: str, folder: Path) -> ModuleType:
    path = folder / "declared.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("declared", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["declared"] = module
    try:
        spec.loader.exec_module(module)
        meta_model(module)  # annotations are resolved now, while the module can be found by its name
    except DeclarationError:
        pass
    finally:
        del sys.modules["declared"]
    return module


@pytest.fixture
def declared(tmp_path: Path) -> ModuleType:
    return load(SOURCE, tmp_path)


@pytest.mark.parametrize(
    ("doc", "name"),
    [
        ('"""How | why."""', "Mode"),
        ('    """At once."""', "Mode.FAST"),
        ('"""Where to go."""', "GoParams"),
        ('    """A limit."""', "GoParams.max_tokens"),
        ('    """One of two."""', "GoParams.kind"),
        ('"""Nothing at all."""', "Nothing"),
    ],
)
def test_whatever_lacks_a_docstring_is_named(tmp_path: Path, doc: str, name: str) -> None:
    replacement = "    pass" if name == "Nothing" else ""
    module = load(SOURCE.replace(doc, replacement), tmp_path)
    with pytest.raises(DeclarationError, match=rf"^{name} has no docstring\.$"):
        meta_model(module)


def test_messages_need_a_doc_and_a_name_of_their_own(tmp_path: Path) -> None:
    module = load(SOURCE.replace('"Go."', '" "').replace("demo/didGo", "demo/pick"), tmp_path)
    with pytest.raises(DeclarationError, match=r"^demo/go/there has no doc\. demo/pick is declared twice\.$"):
        meta_model(module)


def test_a_type_without_a_form_on_the_wire_is_refused(tmp_path: Path) -> None:
    module = load(SOURCE.replace("mode: Mode", "mode: bytes"), tmp_path)
    with pytest.raises(DeclarationError, match="bytes"):
        meta_model(module)


def test_every_message_structure_and_enumeration_is_published() -> None:
    model = meta_model(messages)
    published = {entry["method"] for entry in model["requests"] + model["notifications"]}
    assert published == {message.method for message in messages.MESSAGES}
    names = {structure["name"] for structure in model["structures"]}
    own = {cls.__name__ for cls in Wire.__subclasses__() if cls.__module__.startswith("palimpsest.")}
    assert names == own
    text = (ROOT / "PROTOCOL.md").read_text("utf-8")
    for name in published:
        assert f"### `{name}`\n" in text
    for structure in model["structures"]:
        for field in structure["properties"]:
            assert f"| `{field['name']}` |" in text


def test_the_model_has_the_shape_of_the_standards_own(declared: ModuleType) -> None:
    for model in (meta_model(messages), meta_model(declared)):
        assert list(model) == ["metaData", "requests", "notifications", "structures", "enumerations", "typeAliases"]
        assert json.loads(json.dumps(model)) == model
        names = {entry["name"] for group in ("structures", "enumerations", "typeAliases") for entry in model[group]}
        for message in model["requests"] + model["notifications"]:
            assert message["messageDirection"] in ("clientToServer", "serverToClient")
            assert message["typeName"].isidentifier()
            check_type(message["params"], names)
        for request in model["requests"]:
            check_type(request["result"], names)
        for structure in model["structures"]:
            for field in structure["properties"]:
                assert set(field) <= {"name", "type", "optional", "documentation"}
                check_type(field["type"], names)
        for enumeration in model["enumerations"]:
            assert enumeration["type"] == {"kind": "base", "name": "string"}
            assert all(set(value) == {"name", "value", "documentation"} for value in enumeration["values"])


def check_type(found: Any, names: set[str]) -> None:
    """The `Type` of Microsoft's metaModel.schema.json (LSP 3.17), as far as it is used here."""
    match found:
        case {"kind": "base", "name": name, **rest}:
            assert not rest
            assert name in ("string", "integer", "decimal", "boolean", "null")
        case {"kind": "reference", "name": name, **rest}:
            assert not rest
            assert name in names
        case {"kind": "array", "element": element, **rest}:
            assert not rest
            check_type(element, names)
        case {"kind": "map", "key": {"kind": "base", "name": "string"}, "value": value, **rest}:
            assert not rest
            check_type(value, names)
        case {"kind": "or", "items": [_, _, *_] as items, **rest}:
            assert not rest
            for item in items:
                check_type(item, names)
        case {"kind": "stringLiteral", "value": str(), **rest}:
            assert not rest
        case _:
            pytest.fail(f"not a type of the metamodel: {found}")


def test_typescript_has_every_kind_of_type(declared: ModuleType) -> None:
    text = typescript(meta_model(declared))
    for line in (
        'export type Mode =\n    /** At once. */\n    | "fast"\n    /** Later, perhaps. */\n    | "slow";',
        '    type: "text";',
        "    text: string | null;",
        "    mode: Mode;",
        "    maxTokens?: number;",
        "    token?: number | string;",
        "    parts?: Array<Part>;",
        "    ids?: Array<number>;",
        "    either?: Array<number | string>;",
        "    sizes?: Record<string, number>;",
        "    free?: unknown;",
        '    kind?: "a" | "b";',
        'export const GoThereRequest = new lc.RequestType<GoParams, Array<Part>, void>("demo/go/there");',
        'export const PickRequest = new lc.RequestType<Nothing, null, void>("demo/pick");',
        'export const DidGoNotification = new lc.NotificationType<Part>("demo/didGo");',
    ):
        assert f"{line}\n" in text


def test_lua_has_every_kind_of_type(declared: ModuleType) -> None:
    text = lua(meta_model(declared))
    for line in (
        '---@alias palimpsest.Mode\n---| "fast" # At once.\n---| "slow" # Later, perhaps.',
        '---@field type "text" Always this.',
        "---@field text string|nil Nullable | required.",
        "---@field maxTokens? integer A limit.",
        "---@field parts? palimpsest.Part[] Parts.",
        "---@field either? (integer|string)[] Either.",
        "---@field sizes? table<string, number> Sizes.",
        "---@field free? any Any.",
        '---@field kind? "a"|"b" One of two.',
        '    GoThereRequest = "demo/go/there",',
    ):
        assert f"{line}\n" in text


def test_the_page_for_people_tells_all_and_breaks_no_table(declared: ModuleType) -> None:
    recording = [
        {"caption": "First.", "messages": [["editor", {"jsonrpc": "2.0", "id": 1}], ["server", {"text": "x" * 200}]]}
    ]
    text = markdown(meta_model(declared), declared, json.dumps(recording))
    for line in (
        "# Protocol\n",
        "An introduction.",
        'First.\n\n```jsonc\n→ {"id": 1}\n← {\n  "text": "xxx',
        "## Declared",
        "*Request, editor to server.* Go.",
        "*Request, server to editor.* Pick.",
        "*Notification, server to editor.* It went.",
        "**Result:** array of [Part](#part)",
        '<a id="goparams"></a>Where to go.',
        "### Part",
        "| `text` | string or null |  | Nullable \\| required. |",
        "| `either` | array of (integer or string) | yes | Either. |",
        "| `free` | any JSON | yes | Any. |",
        "It has no fields.",
        "| `slow` | Later, perhaps. |",
    ):
        assert line in text
    for row in text.splitlines():
        if row.startswith("|"):
            assert row.replace("\\|", "").count("|") in (3, 5)
