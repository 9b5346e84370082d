"""`palimpsest acp`: an agent of the Agent Client Protocol on stdin and stdout."""

from __future__ import annotations

import argparse

from palimpsest.cli.extras import has_extra
from palimpsest.cli.serve import load_sealed_folders, log_to_stderr


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Run the agent for an editor that speaks the Agent Client Protocol, such as Zed. The editor starts this "
        "command and talks to it; alone in a terminal it waits for an editor. It needs the extra `acp`; "
        "where that is missing, the command that adds it is printed."
    )
    parser.set_defaults(run=run)


def run(_arguments: argparse.Namespace) -> int:
    if not has_extra("acp"):
        return 2
    log_to_stderr("warning")
    from palimpsest.acp_agent.command import run as run_agent
    from palimpsest.lsp.runtime.greeting import protect_stdio

    return run_agent(load_sealed_folders, protect_stdio)
