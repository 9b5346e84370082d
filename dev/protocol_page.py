"""PROTOCOL.md: the protocol for people."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from types import ModuleType

from dev import GENERATED
from dev.metamodel import ANY, DeclarationError, Model, one_line


def markdown(model: Model, module: ModuleType) -> str:
    """The page of the protocol that `module` declares; the module's docstring is its introduction.

    A structure that only one message uses is described with that message.
    """
    introduction = inspect.getdoc(module)
    if not introduction:
        raise DeclarationError(f"{module.__name__} has no docstring.")
    inline = _used_once(model)
    structures = {structure["name"]: structure for structure in model["structures"]}
    out = ["# Protocol", "", f"<!-- {GENERATED} -->", "", introduction, ""]
    for title, group, direction in (
        ("Requests to the server", "requests", "clientToServer"),
        ("Requests to the editor", "requests", "serverToClient"),
        ("Notifications to the server", "notifications", "clientToServer"),
        ("Notifications to the editor", "notifications", "serverToClient"),
    ):
        chosen = [message for message in model[group] if message["messageDirection"] == direction]
        out += [f"## {title}", ""] if chosen else []
        for message in chosen:
            way = "editor to server" if direction == "clientToServer" else "server to editor"
            out += [
                f"### `{message['method']}`",
                "",
                f"*{group[:-1].capitalize()}, {way}.* {message['documentation']}",
                "",
            ]
            for part in ("params", "result"):
                if part not in message:
                    continue
                name = message[part].get("name")
                out += [f"**{part.capitalize()}:** {_prose(message[part])}", ""]
                if name in inline:
                    out += [f'<a id="{name.lower()}"></a>{structures[name]["documentation"]}', ""]
                    out += _table(structures[name])
    out += ["## Structures", ""]
    for name, structure in structures.items():
        if name not in inline:
            out += [f"### {name}", "", structure["documentation"], "", *_table(structure)]
    out += ["## Enumerations", ""]
    for enumeration in model["enumerations"]:
        out += [f"### {enumeration['name']}", "", enumeration["documentation"], "", "| value | meaning |", "|---|---|"]
        out += [f"| `{_cell(v['value'])}` | {_cell(v['documentation'])} |" for v in enumeration["values"]] + [""]
    return "\n".join(out).rstrip() + "\n"


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
