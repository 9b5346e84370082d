"""`palimpsest fake-provider`: a made-up model service, to try an editor plugin with."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from palimpsest_clients.fake import command

_FORMATS: Final = ("anthropic", "openai", "chat", "gemini", "ollama", "all")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=0, help="where to listen (default: a free port)")
    parser.add_argument("--format", choices=_FORMATS, default="all", help="the wire format (default: all of them)")
    parser.add_argument("--script", type=Path, metavar="FILE", help="answers and failures, one JSON object a line")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    return command.run(arguments.port, arguments.format, arguments.script)
