"""How editors differ: what they announce when they connect, and what they and their users answer."""

from __future__ import annotations

import random
import zlib
from pathlib import Path
from typing import Any, Final

from tests.simulation.editor import Message, Policy, Reply
from tests.simulation.world import World


def folder(path: Path) -> Message:
    return {"uri": path.as_uri(), "name": path.name}


def capabilities(v: random.Random, *, is_told: bool) -> Message:
    def maybe(**all_of: Any) -> Message:
        return {name: value for name, value in all_of.items() if v.random() < 0.6}

    experimental = (
        {"experimental": {"palimpsest": {"notifications": True}}} if is_told else maybe(experimental={"x": 1})
    )
    workspace = maybe(
        configuration=True,
        didChangeConfiguration={"dynamicRegistration": True},
        workspaceFolders=True,
        applyEdit=True,
        workspaceEdit={"documentChanges": True, "resourceOperations": ["create"]},
        diagnostics={"refreshSupport": True},
        codeLens={"refreshSupport": True},
    )
    window = maybe(showMessage={}, workDoneProgress=True)
    return experimental | maybe(
        workspace=workspace, window=window, textDocument=maybe(diagnostic={}), general={"positionEncodings": ["utf-8"]}
    )


def options(v: random.Random, world: World) -> Any:
    trust = v.choice((True, False, [world.root.as_uri()], "yes"))
    return {"palimpsest": v.choice(({"settings": {"variant": v.randrange(8)}}, {"trust": trust}, {}, None, 7))}


def policy(world: World, kind: int) -> Policy:
    """The answer of the editor or of its user."""
    n_asked = [0]

    def reply(method: str, params: Any) -> tuple[float, Reply]:
        n_asked[0] += 1
        v = random.Random(zlib.crc32(f"{kind} {method} {n_asked[0]}".encode()))
        delay_s = v.choice((0.0, 0.0, 0.0, 0.1, 5.0))
        match method:
            case "workspace/configuration":
                kinds: Any = {"variant": v.randrange(8)}, None, {}, [], "x"
                values = [v.choice(kinds) for _ in params["items"]]
                return delay_s, v.choice(({"result": values}, {"result": values[1:]}, {"result": 7}, _NO_METHOD))
            case "window/showMessageRequest":
                titles = [each["title"] for each in params.get("actions") or ()] or ["Yes"]
                chosen = {"result": {"title": v.choice(titles)}}
                return delay_s, v.choice((chosen, chosen, {"result": None}, _NO_METHOD))
            case "client/registerCapability" | "workspace/diagnostic/refresh" | "workspace/codeLens/refresh":
                return v.choice(((delay_s, {"result": None}), (0.0, None), (delay_s, _NO_METHOD)))
            case "workspace/applyEdit":
                return delay_s, {"result": {"applied": False}}
        return delay_s, _NO_METHOD

    return reply


_NO_METHOD: Final = {"error": {"code": -32601, "message": "no such method"}}
