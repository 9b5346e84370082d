"""Read the declarations of the protocol into a JSON metamodel in the shape of Microsoft's own.

Python's annotations are read once, here; the other files are made from the metamodel. A declaration without a docstring
is refused, so every field in the documents has a meaning.
"""

from __future__ import annotations

import ast
import enum
import inspect
import itertools
import sys
import types
import typing
from collections import Counter
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

from palimpsest.wire.declare import Notification, Request, Wire, wire_fields

Model = dict[str, Any]
"""A metamodel, or a part of it: plain JSON values."""

_BASE = {str: "string", int: "integer", bool: "boolean", float: "decimal", type(None): "null"}
ANY: Model = {"kind": "reference", "name": "LSPAny"}
"""The type of any JSON value."""


class DeclarationError(Exception):
    """The declarations cannot be published; the message names every place that keeps them from it."""


def meta_model(module: ModuleType) -> Model:
    """The `MESSAGES` of a module, and every structure and enumeration defined in it and its `AREAS`, in their order."""
    declaring = dict.fromkeys((module, *areas_of(module)))
    own = list(dict.fromkeys(cls for each in declaring for cls in _published(each)))
    bases = {base.__module__ for cls in own for base in cls.__mro__ if base.__module__.startswith("palimpsest.")}
    docs = Docs({*declaring, *(sys.modules[name] for name in bases)})
    messages: tuple[Request | Notification, ...] = module.MESSAGES
    model = {
        "metaData": {"version": str(getattr(module, "PROTOCOL_VERSION", 1))},
        "requests": [_message(m) | {"result": _type(m.result)} for m in messages if isinstance(m, Request)],
        "notifications": [_message(m) for m in messages if isinstance(m, Notification)],
        "structures": [_structure(cls, docs) for cls in own if issubclass(cls, Wire)],
        "enumerations": [_enumeration(cls, docs) for cls in own if issubclass(cls, enum.Enum)],
        "typeAliases": [_any_alias()],
    }
    problems = [f"{name} has no docstring." for name in docs.missing]
    problems += [f"{m.method} has no doc." for m in messages if not m.doc.strip()]
    problems += [f"{m} is declared twice." for m, count in Counter(m.method for m in messages).items() if count > 1]
    if problems:
        raise DeclarationError(" ".join(problems))
    return model


def _published(module: ModuleType) -> Iterator[type]:
    """The classes that a module declares, and the enumerations that it takes from the domain."""
    for cls in vars(module).values():
        if isinstance(cls, type) and (cls.__module__ == module.__name__ or _is_of_domain(cls)):
            yield cls


def _is_of_domain(cls: type) -> bool:
    return issubclass(cls, enum.Enum) and cls.__module__.startswith("palimpsest.domain.")


def areas_of(module: ModuleType) -> tuple[ModuleType, ...]:
    """The modules that declare the messages of `module`, in the order of the page: itself where it has no `AREAS`."""
    areas: tuple[ModuleType, ...] = getattr(module, "AREAS", (module,))
    return areas


class Docs:
    """The docstrings of some modules' classes, and the string literals below their fields and members."""

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self.missing: list[str] = []
        """Names that were asked for and have none, in the order they were asked for."""
        self._found: dict[str, str] = {}
        for node in (node for module in modules for node in ast.parse(inspect.getsource(module)).body):
            if isinstance(node, ast.ClassDef):
                self._found[node.name] = ast.get_docstring(node) or ""
                self._found |= {f"{node.name}.{name}": doc for name, doc in _below_fields(node)}

    def of(self, *names: str) -> str:
        """The docstring of a `Class` or a `Class.field`: of the first of `names` that has one."""
        doc = next((doc for name in names if (doc := self._found.get(name, "").strip())), "")
        if not doc:
            self.missing.append(names[0])
        return doc


def _below_fields(cls: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for node, after in itertools.pairwise(cls.body):
        targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str):
            yield from ((t.id, inspect.cleandoc(after.value.value)) for t in targets if isinstance(t, ast.Name))


def _message(message: Request | Notification) -> Model:
    words = [word[:1].upper() + word[1:] for word in message.method.split("/")[1:]]
    return {
        "method": message.method,
        "typeName": "".join(words) + ("Request" if isinstance(message, Request) else "Notification"),
        "messageDirection": message.direction.value,
        "params": _type(message.params),
        "documentation": message.doc,
    }


def _structure(cls: type[Wire], docs: Docs) -> Model:
    documentation = docs.of(cls.__name__)
    properties = [
        {"name": field.key, "type": _type(field.hint)}
        | ({"optional": True} if field.is_optional else {})
        | {"documentation": docs.of(*(f"{each.__name__}.{field.name}" for each in cls.__mro__))}
        for field in wire_fields(cls)
    ]
    return {"name": cls.__name__, "properties": properties, "documentation": documentation}


def _enumeration(cls: type[enum.Enum], docs: Docs) -> Model:
    return {
        "name": cls.__name__,
        "type": {"kind": "base", "name": "string"},
        "documentation": docs.of(cls.__name__),
        "values": [
            {"name": name, "value": member.value, "documentation": docs.of(f"{cls.__name__}.{name}")}
            for name, member in cls.__members__.items()
        ],
    }


def _type(hint: Any) -> Model:
    """An annotation as a type of the metamodel."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is None or hint in _BASE:
        return {"kind": "base", "name": _BASE[hint or type(None)]}
    if hint is Any:
        return ANY
    if origin in (types.UnionType, typing.Union):
        return {"kind": "or", "items": [_type(arg) for arg in args]}
    if origin in (list, tuple) or hint is list:
        return {"kind": "array", "element": _type(args[0] if args else Any)}
    if origin is dict or hint is dict:
        return {"kind": "map", "key": {"kind": "base", "name": "string"}, "value": _type(args[1] if args else Any)}
    if origin is typing.Literal:
        literals: list[Model] = [{"kind": "stringLiteral", "value": arg} for arg in args]
        return literals[0] if len(literals) == 1 else {"kind": "or", "items": literals}
    if isinstance(hint, type) and issubclass(hint, (Wire, enum.Enum)):
        return {"kind": "reference", "name": hint.__name__}
    raise DeclarationError(f"{hint!r} has no form on the wire.")


def _any_alias() -> Model:
    """Any JSON value, so that the model stands on its own."""
    containers = [
        {"kind": "map", "key": {"kind": "base", "name": "string"}, "value": ANY},
        {"kind": "array", "element": ANY},
    ]
    base = [{"kind": "base", "name": name} for name in ("string", "integer", "decimal", "boolean", "null")]
    return {"name": "LSPAny", "type": {"kind": "or", "items": containers + base}, "documentation": "Any JSON value."}


def one_line(text: str) -> str:
    """A docstring on one line."""
    return " ".join(text.split())
