"""The protocol for other languages: the metamodel as JSON, types for TypeScript and Lua, and PROTOCOL.md."""

from __future__ import annotations

import json

from dev import GENERATED
from dev.metamodel import ANY, Model, meta_model, one_line
from dev.one_turn import record
from dev.protocol_page import markdown
from palimpsest.wire import messages


def outputs() -> dict[str, str]:
    """The text of each file that describes the protocol, by its path below the repository's root."""
    model, recording = meta_model(messages), record()
    return {
        "server/palimpsest/wire/metaModel.json": json.dumps(model, indent=2) + "\n",
        "editors/vscode/src/protocol.gen.ts": typescript(model),
        "editors/nvim/lua/palimpsest/protocol.lua": lua(model),
        "dev/one_turn.json": recording,
        "PROTOCOL.md": markdown(model, messages, recording),
    }


def typescript(model: Model) -> str:
    """Types and message constants for `vscode-languageserver-protocol`."""
    out = [f"// {GENERATED}", 'import * as lc from "vscode-languageserver-protocol";', ""]
    for enumeration in model["enumerations"]:
        out += [*_comment(enumeration), f"export type {enumeration['name']} ="]
        for value in enumeration["values"]:
            out += [*_comment(value, "    "), f"    | {json.dumps(value['value'])}"]
        out[-1:] = [out[-1] + ";", ""]
    for structure in model["structures"]:
        out += [*_comment(structure), f"export interface {structure['name']} {{"]
        for field in structure["properties"]:
            mark = "?" if field.get("optional") else ""
            out += [*_comment(field, "    "), f"    {field['name']}{mark}: {_typescript(field['type'])};"]
        out += ["}", ""]
    for message in model["requests"] + model["notifications"]:
        arguments = [_typescript(message["params"])]
        if "result" in message:
            arguments += [_typescript(message["result"]), "void"]
        kind = "RequestType" if "result" in message else "NotificationType"
        made = f"new lc.{kind}<{', '.join(arguments)}>({json.dumps(message['method'])})"
        out += [*_comment(message), f"export const {message['typeName']} = {made};", ""]
    return "\n".join(out)


def _comment(documented: Model, indent: str = "") -> list[str]:
    return [f"{indent}/** {one_line(documented['documentation']).replace('*/', '* /')} */"]


def _typescript(t: Model) -> str:
    match t["kind"]:
        case "base":
            return {"integer": "number", "decimal": "number"}.get(t["name"], str(t["name"]))
        case "reference":
            return "unknown" if t == ANY else str(t["name"])
        case "array":
            return f"Array<{_typescript(t['element'])}>"
        case "map":
            return f"Record<string, {_typescript(t['value'])}>"
        case "stringLiteral":
            return json.dumps(t["value"])
    return " | ".join(_typescript(item) for item in t["items"])


def lua(model: Model) -> str:
    """LuaCATS types and a table of the methods' names."""
    out = [f"-- {GENERATED}", ""]
    for enumeration in model["enumerations"]:
        out += [f"--- {one_line(enumeration['documentation'])}", f"---@alias palimpsest.{enumeration['name']}"]
        out += [f"---| {json.dumps(v['value'])} # {one_line(v['documentation'])}" for v in enumeration["values"]]
        out.append("")
    for structure in model["structures"]:
        out += [f"--- {one_line(structure['documentation'])}", f"---@class palimpsest.{structure['name']}"]
        for field in structure["properties"]:
            mark = "?" if field.get("optional") else ""
            out.append(f"---@field {field['name']}{mark} {_lua(field['type'])} {one_line(field['documentation'])}")
        out.append("")
    out += ["return {", "  methods = {"]
    for message in model["requests"] + model["notifications"]:
        out += [f"    --- {one_line(message['documentation'])}"]
        out += [f"    {message['typeName']} = {json.dumps(message['method'])},"]
    return "\n".join([*out, "  },", "}", ""])


def _lua(t: Model) -> str:
    match t["kind"]:
        case "base":
            return {"decimal": "number", "null": "nil"}.get(t["name"], str(t["name"]))
        case "reference":
            return "any" if t == ANY else f"palimpsest.{t['name']}"
        case "array":
            element = _lua(t["element"])
            return f"({element})[]" if "|" in element else f"{element}[]"
        case "map":
            return f"table<string, {_lua(t['value'])}>"
        case "stringLiteral":
            return json.dumps(t["value"])
    return "|".join(_lua(item) for item in t["items"])
