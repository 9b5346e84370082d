"""`palimpsest fake-provider`: the fake as a program of its own, for authors of editor plugins."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from palimpsest.domain.errors import cannot_listen, system_sentence
from palimpsest.domain.models.providers import PROVIDERS
from palimpsest_clients.fake.replies import Reply
from palimpsest_clients.fake.script import read_script
from palimpsest_clients.fake.server import DIALECTS, Failure, FakeModels
from palimpsest_clients.fake.service import HOST

_PAUSE_S: Final = 0.02
"""The pause between events, which makes the stream visible."""


def run(port: int, wire: str, script: Path | None) -> int:
    """Serve until interrupted; return the exit code. `wire` is the name of a dialect, or `all`."""
    try:
        lines = [] if script is None else script.read_text(encoding="utf-8").split("\n")
        replies = read_script(lines)
    except UnicodeDecodeError:
        return _fail(f"{script} cannot be read: it is not UTF-8.")
    except OSError as error:
        return _fail(f"The script cannot be read: {system_sentence(error)}")
    except ValueError as error:
        return _fail(str(error))
    try:
        return asyncio.run(_serve(port, wire, replies))
    except KeyboardInterrupt:
        return 0
    except OverflowError:
        return _fail("--port is a number from 0 to 65535.")
    except OSError as error:
        return _fail(cannot_listen(HOST, port, error))


def _fail(sentence: str) -> int:
    sys.stderr.write(f"palimpsest: {sentence}\n")
    return 1


async def _serve(port: int, wire: str, replies: list[Reply | Failure]) -> int:
    dialects = [dialect for dialect in DIALECTS if wire in (dialect.name, "all")]
    async with FakeModels(dialects, port=port, pause_s=_PAUSE_S) as fake:
        fake.replies += replies
        sys.stdout.write(announcement(fake.url, [dialect.name for dialect in dialects]))
        sys.stdout.flush()
        await asyncio.Event().wait()
    return 0


def announcement(url: str, names: list[str]) -> str:
    """The address, and a line for each variable, in the form that a shell takes."""
    lines = [url, *(f"export {each}" for name in names for each in _variables(name, url))]
    if "openai" in names:
        lines.append(f"# OpenAI's Responses API, for programs that speak it: {url}/v1")
    return "".join(f"{line}\n" for line in lines)


def _variables(wire: str, url: str) -> Iterator[str]:
    """The variables that make `palimpsest` ask the fake in a format; none for a format that it speaks only with the
    service itself."""
    for entry in PROVIDERS:
        if wire != (entry.compatible_format or entry.format):
            continue
        if entry.takes_key:
            yield f"{entry.key_variables[0]}=fake"
            yield f"{entry.address_variable}={url}{urlsplit(entry.address).path}"
        else:
            yield f"{entry.host_variable}={url}"
