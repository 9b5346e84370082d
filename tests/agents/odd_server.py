"""A server of the Model Context Protocol that misbehaves, as a program of its own. It speaks the version of 2025-11-25
over stdio without any package, because no package would let it do these things.

Arguments: a folder in which it notes what happens, and words that say how it misbehaves from the start.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

NOTES, HABITS = Path(sys.argv[1]), sys.argv[2:]
EMPTY = {"type": "object", "properties": {}}
tools: list[Any] = [{"name": name, "inputSchema": EMPTY} for name in ("big", "hang", "die", "env", "noise", "endless")]


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({**message, "jsonrpc": "2.0"}) + "\n")
    sys.stdout.flush()


def note(name: str, text: object) -> None:
    with (NOTES / name).open("a") as file:
        file.write(f"{text}\n")


def call(id: Any, name: str, arguments: dict[str, Any]) -> None:
    text = "done"
    if name == "hang":
        note("hangs", id)
        return
    if name == "die":
        sys.stderr.write("it hurts\n")
        sys.stderr.flush()
        os._exit(int(arguments.get("status", 1)))
    if name == "big":
        size = arguments.get("bytes", 50_000_000)
        sys.stdout.write('{"result":{"content":[{"type":"text","text":"')
        for _ in range(size // 1_000_000):
            sys.stdout.write("x" * 1_000_000)
        sys.stdout.write(f'"}}]}},"jsonrpc":"2.0","id":{id}}}\n')
        sys.stdout.flush()
        return
    if name == "endless":
        while True:
            sys.stdout.write("x" * 1_000_000)
    if name == "noise":
        while True:
            send(method="notifications/message", params={"level": "info", "data": "noise"})
    if name == "env":
        text = json.dumps(dict(os.environ))
    if name == "new_tool":
        tools.append({"name": "later", "inputSchema": EMPTY})
        send(method="notifications/tools/list_changed")
    if name == "parts":
        send(id=id, result={"content": [{"type": "text", "text": "x"}] * 3_000})
        return
    if name == "odd_number":
        send(id=id, result={"content": [], "structuredContent": {"a": float("nan")}})
        return
    send(id=id, result={"content": [{"type": "text", "text": text}]})


def answer(message: dict[str, Any]) -> None:
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize":
        has = {"tools": {"listChanged": True}}
        known = {"name": "odd", "version": "1"}
        send(id=id, result={"protocolVersion": "2025-11-25", "capabilities": has, "serverInfo": known})
    elif method == "tools/list":
        send(id=id, result={"tools": tools})
    elif method == "tools/call":
        call(id, params["name"], params.get("arguments") or {})
    elif method == "notifications/cancelled":
        note("cancelled", params.get("requestId"))
    elif id is not None and method is not None:
        send(id=id, error={"code": -32601, "message": "Method not found"})


if "lies" in HABITS:
    tools += [{"name": "wrong", "inputSchema": {"type": "objekt"}}, {"name": "none"}, "no tool", {"inputSchema": EMPTY}]
    tools += [{"name": "unsound", "inputSchema": {"type": "object", "properties": {"a": {"type": "strnig"}}}}]
    tools += [{"name": "liar", "inputSchema": EMPTY, "outputSchema": {"type": "object", "required": ["answer"]}}]
    tools += [{"name": "big", "inputSchema": EMPTY}]
if "much" in HABITS:
    wide = {f"p{number}": {"allOf": [{"type": "string"}] * 50} for number in range(3_000)}
    tools = [{"name": name, "inputSchema": EMPTY} for name in ("parts", "odd_number")]
    tools += [{"name": "wide", "inputSchema": {"type": "object", "properties": wide}}]
    large = {"type": "object", "properties": {"a": {"type": "string", "description": "x" * 4_000}}}
    tools += [{"name": f"tool{number}", "inputSchema": large} for number in range(3_000)]
if "changes" in HABITS:
    tools += [{"name": "new_tool", "inputSchema": EMPTY}]
if "children" in HABITS:
    child = [sys.executable, "-c", "import time; time.sleep(1000)"]
    note("pids", subprocess.Popen(child, start_new_session=True, stdin=subprocess.DEVNULL).pid)
if "stays" in HABITS:
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
note("pids", os.getpid())
if "silent" in HABITS:
    sys.stdin.read()
if "prints" in HABITS:
    sys.stdout.write("Welcome to the odd server!\n\n")
for line in sys.stdin:
    answer(json.loads(line))
while "stays" in HABITS:
    sys.stdin.read(1)
    os.sched_yield()
