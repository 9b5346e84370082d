"""Time from starting a server to its answer to `initialize` and to the first list of conversations, and its memory,
against a bare pygls server.

    python -m benchmarks.startup [RUNS]

The two are started in turns, after one unmeasured start each. The bare server answers `initialize` and, as it knows no
other message, an error to the list. Prints medians and the medians of the ratios. The memory is proportional.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

HERE = Path(__file__).parent
REFERENCE = [sys.executable, "-P", str(HERE / "bare_server.py")]
OURS = [sys.executable, "-P", "-m", "palimpsest", "serve", "--stdio"]
TARGETS = {"initialize answered": 0.6, "conversations listed": 1.5, "memory": 1.3}
"""Of what the bare server takes until `initialize` is answered, and of its memory then."""


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


def measure(command: list[str], folder: Path, environment: dict[str, str]) -> dict[str, float]:
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
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        assert process.stdin is not None
        calls = (
            ("initialize answered", {"id": 1, "method": "initialize", "params": params}),
            ("conversations listed", {"id": 2, "method": "palimpsest/conversation/list", "params": {}}),
            ("", {"id": 3, "method": "shutdown"}),
        )
        for number, (what, call) in enumerate(calls, 1):
            process.stdin.write(frame(call))
            process.stdin.flush()
            answer(process, number)
            if what:
                found[what] = (time.perf_counter() - started) * 1000
                memory = psutil.Process(process.pid).memory_full_info()
                found["memory"] = getattr(memory, "pss", memory.rss) / (1 << 20)
            if number == 1:
                process.stdin.write(frame({"method": "initialized", "params": {}}))
        process.stdin.write(frame({"method": "exit"}))
        process.stdin.flush()
        process.wait(20)
    return found


def main(n_runs: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"HOME": directory, "XDG_DATA_HOME": directory, "XDG_CACHE_HOME": directory}
        for command in (REFERENCE, OURS):
            measure(command, folder, environment)
        pairs = [(measure(REFERENCE, folder, environment), measure(OURS, folder, environment)) for _ in range(n_runs)]
    print(f"startup: median of {n_runs} pairs, of a bare pygls server's `initialize` and its memory")
    for what, target in TARGETS.items():
        beside, unit = ("memory", "MiB") if what == "memory" else ("initialize answered", "ms")
        bare = statistics.median(reference[beside] for reference, _ in pairs)
        own = statistics.median(ours[what] for _, ours in pairs)
        ratio = statistics.median(ours[what] / reference[beside] for reference, ours in pairs)
        is_met = "met" if ratio <= target else "NOT MET"
        print(f"  {what:22} {own:6.0f} of {bare:5.0f} {unit:3}  ratio {ratio:.2f}, target {target}: {is_met}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
