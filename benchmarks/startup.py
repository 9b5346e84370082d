"""How soon a server answers after its start, how soon a question in the terminal is answered, and what memory it takes.

    python -m benchmarks.startup [RUNS]

Servers are started in turns, after one unmeasured start each, and asked for `initialize` and then for the first list of
conversations, which the others refuse as unknown. Ours answers `initialize` before it is loaded, so the second answer
tells how soon it works: beside it stand a bare server's `initialize`, and the others' second answer. Beside ours: a
pygls server without a single feature, and the servers that `make bench-servers` has installed. A question in the
terminal is answered by the search of the folder, without a model. Memory is proportional (PSS): what two processes
share counts half in each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import psutil
from benchmarks.editor import OURS, environment
from benchmarks.figures import Figure, Size, alone, beside, numbers, show

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
BARE: Final = "a bare pygls server"
SERVERS: Final = ROOT / "build" / "bench-servers"
OTHERS: Final = {
    "python-lsp-server": [str(SERVERS / "python" / "bin" / "pylsp")],
    "jedi-language-server": [str(SERVERS / "python" / "bin" / "jedi-language-server")],
    "Copilot's language server": [str(SERVERS / "node_modules" / ".bin" / "copilot-language-server"), "--stdio"],
}
INITIALIZE, LIST, MEMORY = "initialize", "list", "memory"
_QUESTION: Final = "What is in setup.cfg?"
_RUNS: Final = {Size.FULL: 15, Size.QUICK: 1}


def frame(message: dict[str, object]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0"} | message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def answer(process: subprocess.Popen[bytes], message_id: int) -> None:
    """Reads until the answer to that request."""
    assert process.stdout is not None
    while True:
        length = 0
        while (line := process.stdout.readline()) != b"\r\n":
            if not line:
                raise SystemExit("the server ended before it answered")
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message = json.loads(process.stdout.read(length))
        if message.get("id") == message_id and "method" not in message:
            return


def measure(command: Sequence[str], folder: Path, variables: dict[str, str]) -> dict[str, float]:
    """Milliseconds to the answers, and MiB behind the last."""
    params = {
        "processId": os.getpid(),
        "rootUri": folder.as_uri(),
        "capabilities": {},
        "workspaceFolders": [{"uri": folder.as_uri(), "name": "x"}],
    }
    found: dict[str, float] = {}
    started = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=variables
    ) as process:
        assert process.stdin is not None
        calls = (
            (INITIALIZE, {"id": 1, "method": "initialize", "params": params}),
            (LIST, {"id": 2, "method": "palimpsest/conversation/list", "params": {}}),
            ("", {"id": 3, "method": "shutdown"}),
        )
        for number, (what, call) in enumerate(calls, 1):
            process.stdin.write(frame(call))
            process.stdin.flush()
            answer(process, number)
            if what:
                found[what] = (time.perf_counter() - started) * 1000
                found[MEMORY] = memory_mib(process.pid)
            if number == 1:
                process.stdin.write(frame({"method": "initialized", "params": {}}))
        process.stdin.write(frame({"method": "exit"}))
        process.stdin.flush()
        process.wait(20)
    return found


def memory_mib(pid: int) -> float:
    """Of the process and those it started."""
    total = 0
    for process in (psutil.Process(pid), *psutil.Process(pid).children(recursive=True)):
        memory = process.memory_full_info()
        total += getattr(memory, "pss", memory.rss)
    return total / (1 << 20)


def ask_in_terminal(folder: Path, variables: dict[str, str]) -> float:
    """Milliseconds of `make -s run` with one question, to its end."""
    (folder / "setup.cfg").write_text("[metadata]\nname = pump\n", "utf-8")
    started = time.perf_counter()
    command = ["make", "-s", "run", f"FOLDER={folder}"]
    done = subprocess.run(command, cwd=ROOT, input=_QUESTION.encode(), capture_output=True, env=variables, check=True)
    assert b"pump" in done.stdout
    return (time.perf_counter() - started) * 1000


def import_pygls(variables: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-P", "-c", "import pygls.lsp.server"], env=variables, check=True)
    return (time.perf_counter() - started) * 1000


def figures(size: Size, n_runs: int = 0) -> list[Figure]:
    commands = {BARE: [sys.executable, "-P", str(HERE / "bare_server.py")], "": OURS}
    commands |= {name: command for name, command in OTHERS.items() if Path(command[0]).exists()}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in commands}
    terminal: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory, "folder")
        folder.mkdir()
        places = ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")
        variables = environment() | dict.fromkeys(places, directory)
        for command in commands.values():
            measure(command, folder, variables)
        ask_in_terminal(folder, variables)
        for _ in range(n_runs or _RUNS[size]):
            for name, command in commands.items():
                runs[name].append(measure(command, folder, variables))
            terminal.append((import_pygls(variables), ask_in_terminal(folder, variables)))

    def pairs(name: str, theirs: str, ours: str) -> list[tuple[float, float]]:
        return [(other[theirs], own[ours]) for other, own in zip(runs[name], runs[""], strict=True)]

    early = "before the server is loaded: the next rows say when it works"
    found = [beside("`initialize` answered", pairs(BARE, INITIALIZE, INITIALIZE), BARE, 0.6, note=early)]
    found += [
        beside("`initialize` answered", pairs(name, INITIALIZE, INITIALIZE), name, None)
        for name in OTHERS
        if name in runs
    ]
    listed = "first list of conversations after a start"
    more = "it imports what the bare server does, and its services"
    found.append(beside(listed, pairs(BARE, INITIALIZE, LIST), f"`initialize` of {BARE}", 1.5, note=more))
    found += [
        beside(listed, pairs(name, LIST, LIST), f"the second answer of {name}", None) for name in OTHERS if name in runs
    ]
    too_much = "its services are loaded: decision 26"
    found.append(beside("memory behind the first list", pairs(BARE, MEMORY, MEMORY), BARE, 1.3, "MiB", note=too_much))
    copilot = "Copilot's language server"
    if copilot in runs:
        found.append(
            beside("memory behind the first list", pairs(copilot, MEMORY, MEMORY), copilot, 0.18, "MiB", note=too_much)
        )
    found.append(
        alone(
            "a question by `make run` without a model, key press to end",
            [own for _, own in terminal],
            1_500,
            note="two programs of Python start, one after the other: the terminal, then its server",
        )
    )
    found.append(beside("the same", terminal, "`import pygls.lsp.server`", None))
    return found


if __name__ == "__main__":
    show(figures(Size.FULL, *numbers(__doc__, RUNS=_RUNS[Size.FULL])))
