"""`palimpsest fake-provider`: a model service that makes its answers up."""

from __future__ import annotations

import argparse
from pathlib import Path

from palimpsest_clients.fake import command
from palimpsest_clients.fake.server import NAMES


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, default=0, help="the port to listen on (default: a free one)")
    parser.add_argument(
        "--format", choices=(*NAMES, "all"), default="all", help="the wire format of the service (default: all of them)"
    )
    parser.add_argument(
        "--script", type=Path, metavar="FILE", help="the answers and failures to give, one JSON object per line"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    return command.run(arguments.port, arguments.format, arguments.script)
