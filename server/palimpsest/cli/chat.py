"""`palimpsest chat`: the terminal client."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from palimpsest.terminal.chat import Wish
from palimpsest.terminal.chat import run as run_chat


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", help="the workspace folder (default: the current folder)")
    parser.add_argument(
        "question", nargs="?", help="the first message; alone, a text with a blank in it is one, and no folder"
    )
    parser.add_argument(
        "-p",
        "--print",
        action="store_true",
        help="print the answer to one question and leave; what is piped in is added to the question",
    )
    parser.add_argument(
        "--json", action="store_true", help="as -p, but print one JSON object: the answer, and how it ended"
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--new", action="store_true", help="start a new conversation instead of continuing the newest one"
    )
    which.add_argument(
        "--resume",
        metavar="CONVERSATION",
        default="",
        help="continue a conversation: its number in /resume, its id or its title, or the beginning of one",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    is_one_shot = arguments.print or arguments.json
    folder, question = _meant(arguments.folder, arguments.question, is_one_shot)
    wish = Wish(folder, arguments.new, arguments.resume, question, is_one_shot, arguments.json)
    # -P: modules in the folder must not replace ours.
    command = [sys.executable, "-P", "-m", "palimpsest", "serve", "--stdio"]
    return run_chat(wish, command, _is_trusted)


def _meant(first: str | None, second: str | None, is_one_shot: bool) -> tuple[Path, str]:
    """The folder and the question, which may be empty."""
    if first is None:
        return Path(), ""
    if second is not None:
        return Path(first), second
    is_question = not Path(first).is_dir() and (is_one_shot or len(first.split()) > 1)
    return (Path(), first) if is_question else (Path(first), "")


def _is_trusted(folder: Path) -> bool:
    # Imported only for the first screen, while the server starts.
    from palimpsest.app.trusted_folders import trusted_folders

    return folder in trusted_folders()
