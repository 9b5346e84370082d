"""Time from starting a server to its answer to `initialize`, and its memory then, against a bare pygls server.

    python -m benchmarks.startup [RUNS]

The two are started in turns, after one unmeasured start each. Prints medians and their ratio; the target is 1.15.
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
TARGET = 1.15


def frame(message: dict[str, object]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0"} | message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def read_frame(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    length = 0
    while (line := process.stdout.readline()) != b"\r\n":
        if not line:
            raise SystemExit("the server ended before it answered")
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return process.stdout.read(length)


def measure(command: list[str], folder: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Milliseconds to the answer, and proportional memory in MiB."""
    params = {
        "processId": os.getpid(),
        "rootUri": folder.as_uri(),
        "capabilities": {},
        "workspaceFolders": [{"uri": folder.as_uri(), "name": "x"}],
    }
    started = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        assert process.stdin is not None
        process.stdin.write(frame({"id": 1, "method": "initialize", "params": params}))
        process.stdin.flush()
        read_frame(process)
        elapsed_ms = (time.perf_counter() - started) * 1000
        memory = psutil.Process(process.pid).memory_full_info()
        process.stdin.write(frame({"id": 2, "method": "shutdown"}))
        process.stdin.flush()
        read_frame(process)
        process.stdin.write(frame({"method": "exit"}))
        process.stdin.flush()
        process.wait(20)
    return elapsed_ms, getattr(memory, "pss", memory.rss) / (1 << 20)


def main(n_runs: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"HOME": directory, "XDG_DATA_HOME": directory, "XDG_CACHE_HOME": directory}
        for command in (REFERENCE, OURS):
            measure(command, folder, environment)
        pairs = [(measure(REFERENCE, folder, environment), measure(OURS, folder, environment)) for _ in range(n_runs)]
    reference_ms, ours_ms = (statistics.median(pair[i][0] for pair in pairs) for i in (0, 1))
    reference_mib, ours_mib = (statistics.median(pair[i][1] for pair in pairs) for i in (0, 1))
    ratio = statistics.median(ours[0] / reference[0] for reference, ours in pairs)
    print(f"startup: initialize answered, median of {n_runs} pairs")
    print(f"  bare pygls   {reference_ms:6.0f} ms  {reference_mib:5.1f} MiB")
    print(f"  palimpsest   {ours_ms:6.0f} ms  {ours_mib:5.1f} MiB")
    print(f"  ratio {ratio:.2f} (median of pairs), target {TARGET}: {'met' if ratio <= TARGET else 'NOT MET'}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
