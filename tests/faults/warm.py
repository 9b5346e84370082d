"""Imports the server once and forks one for whoever asks: `python -m tests.faults.warm SOCKET VOCABULARIES`.

Importing takes two seconds of a processor, and thousands of servers are started here. A fork runs the same entry
point (`serve`) with the same pipes; it only finds its modules loaded. One connection to the socket is one server: it
sends the environment and three descriptors, and gets the process id, then how the process ended.
"""

from __future__ import annotations

import array
import contextlib
import importlib
import json
import os
import selectors
import signal
import socket
import sys
from pathlib import Path
from typing import NoReturn

_MODULES = (
    *("palimpsest.app.compose", "palimpsest.cli.main", "palimpsest.lsp.server", "palimpsest.lsp.runtime.stdio"),
    *("palimpsest_clients.openai.chat_completions", "tests.faults.serve"),
)


def _receive(connection: socket.socket) -> tuple[dict[str, str], list[int]]:
    descriptors = array.array("i")
    head, ancillary, _, _ = connection.recvmsg(8, socket.CMSG_LEN(3 * descriptors.itemsize))
    for _, _, data in ancillary:
        descriptors.frombytes(data)
    text = b""
    while len(text) < int.from_bytes(head, "big"):
        text += connection.recv(1 << 16)
    return json.loads(text), list(descriptors)


def _serve(environment: dict[str, str], descriptors: list[int]) -> NoReturn:
    """In the child: to its end."""
    code = 70
    try:
        for target, source in enumerate(descriptors):
            os.dup2(source, target)
        os.closerange(3, 256)
        os.environ.clear()
        os.environ.update(environment)
        sys.stdin, sys.stdout, sys.stderr = (open(n, mode, buffering=1) for n, mode in ((0, "r"), (1, "w"), (2, "w")))
        from tests.faults.serve import main

        code = main()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else 1
    finally:
        sys.stderr.flush()
        os._exit(code)


def _run(path: str, vocabularies: Path) -> None:
    for module in _MODULES:
        importlib.import_module(module)
    from palimpsest.app.hubs import HubPool
    from palimpsest.lsp import features
    from palimpsest.lsp.runtime import methods
    from palimpsest.services.models.tokenizers import load_tokenizer

    if HubPool.is_installed():
        importlib.import_module("palimpsest.services.sharing.following")
    # A tenth of a second of each start, and the same for every server.
    methods.make_converter()
    features.load()
    for name in ("cl100k_base", "o200k_base"):  # tiktoken keeps what it has loaded, for a fork too
        load_tokenizer(name, vocabularies)

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    children: dict[int, socket.socket] = {}
    ended_read, ended_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(ended_write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    selector = selectors.DefaultSelector()
    for watched in (listener, ended_read, sys.stdin):
        selector.register(watched, selectors.EVENT_READ)
    while True:
        ready = [key.fileobj for key, _ in selector.select()]
        if sys.stdin in ready:  # whoever started us is gone
            for pid in children:
                os.kill(pid, signal.SIGKILL)
            return
        if ended_read in ready:
            os.read(ended_read, 4096)
            while children:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if not pid:
                    break
                with children.pop(pid) as connection, contextlib.suppress(OSError):
                    connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
        if listener in ready:
            connection, _ = listener.accept()
            environment, descriptors = _receive(connection)
            pid = os.fork()
            if pid == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _serve(environment, descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            children[pid] = connection
            connection.sendall(b"%d\n" % pid)


if __name__ == "__main__":
    _run(sys.argv[1], Path(sys.argv[2]))
