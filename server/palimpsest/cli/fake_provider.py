"""`palimpsest fake-provider`: a model service that makes its answers up."""

from __future__ import annotations

import argparse
from pathlib import Path

from palimpsest.cli.parser import examples, port
from palimpsest_clients.fake import command
from palimpsest_clients.fake.server import NAMES


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run a model service on this machine whose answers are made up: to try an editor, or to see what happens when "
        "a service fails, without a key and without costs. It prints what to set so that Palimpsest uses it, and runs "
        "until Ctrl-C. docs/fake-provider.md describes the scripts."
    )
    parser.epilog = examples("palimpsest fake-provider --format chat --script answers.jsonl")
    parser.add_argument("--port", type=port, metavar="N", default=0, help="the port to listen on (default: a free one)")
    parser.add_argument(
        "--format",
        choices=(*NAMES, "all"),
        default="all",
        help="the API that it imitates; `chat` is Chat Completions (default: all of them)",
    )
    parser.add_argument(
        "--script",
        type=Path,
        metavar="FILE",
        help="the answers and failures to give, in order, one JSON object per line",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    return command.run(arguments.port, arguments.format, arguments.script)
