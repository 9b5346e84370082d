"""PROTOCOL.md: the protocol for people."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from dev import GENERATED
from dev.metamodel import ANY, DeclarationError, Model, areas_of, one_line

_WIDTH: Final = 110
"""Of the lines of recorded messages."""


def markdown(model: Model, module: ModuleType, recording: str) -> str:
    """The page of the protocol that `module` declares, an area a section; `recording` is the text of dev/one_turn.json.

    Docstrings of modules are introductions. A structure that only one message uses is described with that message.
    """
    inline = _used_once(model)
    structures = {structure["name"]: structure for structure in model["structures"]}
    out = ["# Protocol", "", f"<!-- {GENERATED} -->", "", _text(module), "", *recorded_turn(recording)]
    messages = {message["method"]: message for message in model["requests"] + model["notifications"]}
    for area in areas_of(module):
        title = area.__name__.rpartition(".")[2].replace("_", " ").capitalize()
        chosen = [messages[message.method] for message in area.MESSAGES]
        if chosen or area.__name__.endswith(".lifecycle"):
            out += [f"## {title}", "", _text(area), ""]
        for message in chosen:
            out += _message(message, {name: structures[name] for name in inline})
    out += ["## Structures", ""]
    for name, structure in structures.items():
        if name not in inline:
            out += [f"### {name}", "", structure["documentation"], "", *_table(structure)]
    out += ["## Enumerations", ""]
    for enumeration in model["enumerations"]:
        out += [f"### {enumeration['name']}", "", enumeration["documentation"], "", "| value | meaning |", "|---|---|"]
        out += [f"| `{_cell(v['value'])}` | {_cell(v['documentation'])} |" for v in enumeration["values"]] + [""]
    return "\n".join(out).rstrip() + "\n"


def _text(module: ModuleType) -> str:
    text = inspect.getdoc(module)
    if not text:
        raise DeclarationError(f"{module.__name__} has no docstring.")
    return text


def _message(message: Model, inline: Mapping[str, Model]) -> list[str]:
    """A message with those of its structures that are described nowhere else."""
    kind = "Request" if "result" in message else "Notification"
    way = "editor to server" if message["messageDirection"] == "clientToServer" else "server to editor"
    out = [f"### `{message['method']}`", "", f"*{kind}, {way}.* {message['documentation']}", ""]
    for part in ("params", "result"):
        if part in message:
            out += [f"**{part.capitalize()}:** {_prose(message[part])}", ""]
            if (structure := inline.get(message[part].get("name"))) is not None:
                name = structure["name"].lower()
                out += [f'<a id="{name}"></a>{structure["documentation"]}', "", *_table(structure)]
    return out


def _used_once(model: Model) -> set[str]:
    """Structures that are the params or the result of one message and stand nowhere else."""
    messages = model["requests"] + model["notifications"]
    roots = [
        m[part]["name"] for m in messages for part in ("params", "result") if m.get(part, {}).get("kind") == "reference"
    ]
    everywhere = Counter(re.findall(r'"kind": "reference", "name": "(\w+)"', json.dumps(model)))
    return {name for name in roots if everywhere[name] == 1}


def _table(structure: Model) -> list[str]:
    if not structure["properties"]:
        return ["It has no fields.", ""]
    rows = [
        f"| `{field['name']}` | {_prose(field['type'])} | {'yes' if field.get('optional') else ''} "
        f"| {_cell(field['documentation'])} |"
        for field in structure["properties"]
    ]
    return ["| field | type | optional | meaning |", "|---|---|---|---|", *rows, ""]


def _prose(t: Model) -> str:
    match t["kind"]:
        case "base":
            return {"decimal": "number"}.get(t["name"], str(t["name"]))
        case "reference":
            return "any JSON" if t == ANY else f"[{t['name']}](#{t['name'].lower()})"
        case "array":
            return f"array of {_prose_of_part(t['element'])}"
        case "map":
            return f"object of {_prose_of_part(t['value'])}"
        case "stringLiteral":
            return f"`{_cell(json.dumps(t['value']))}`"
    return " or ".join(_prose(item) for item in t["items"])


def _prose_of_part(t: Model) -> str:
    return f"({_prose(t)})" if t["kind"] == "or" else _prose(t)


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")


def recorded_turn(recording: str) -> list[str]:
    """The section with a recorded session, each message as JSON behind an arrow that says who sent it."""
    out = [
        "## One turn on the wire",
        "",
        "A short session, recorded: `→` is a message from the editor to the server, `←` one from the server to the "
        'editor. `"jsonrpc": "2.0"` is left out. The model and the numbers of tokens are those of a script.',
        "",
    ]
    for step in json.loads(recording):
        out += [step["caption"], "", "```jsonc"]
        for sender, message in step["messages"]:
            shown = {name: value for name, value in message.items() if name != "jsonrpc"}
            out.append(f"{'→' if sender == 'editor' else '←'} {_json(shown)}")
        out += ["```", ""]
    return out


def _json(value: Any, indent: int = 0) -> str:
    """JSON that breaks a line only where it would be longer than `_WIDTH`."""
    flat = json.dumps(value, ensure_ascii=False)
    if indent + len(flat) <= _WIDTH or not isinstance(value, (dict, list)):
        return flat
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {_json(each, indent + 2)}" for name, each in value.items()]
        opened, closed = "{", "}"
    else:
        parts = [_json(each, indent + 2) for each in value]
        opened, closed = "[", "]"
    inner = " " * (indent + 2)
    return f"{opened}\n{inner}" + f",\n{inner}".join(parts) + f"\n{' ' * indent}{closed}"
