"""`palimpsest chat`: the terminal client."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from palimpsest.cli.parser import examples
from palimpsest.machine.imports import fast_imports


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Talk about a folder in the terminal. The newest conversation of the folder is continued. Without the key of a "
        "model service, Palimpsest answers by searching the files of the folder. /help in the chat lists its commands, "
        "and Ctrl-D leaves it."
    )
    parser.epilog = examples(
        "palimpsest chat                                    # about the folder that you are in",
        'palimpsest chat ~/src/shop "Where is the tax?"     # begin with a question',
        'git diff | palimpsest chat -p "Review this"        # print one answer, and leave',
    )
    parser.add_argument(
        "folder", nargs="?", metavar="FOLDER", help="the folder to talk about (default: the one that you are in)"
    )
    parser.add_argument(
        "question",
        nargs="?",
        metavar="QUESTION",
        help="the first message; the folder may be left out when the question has more than one word",
    )
    parser.add_argument(
        "-p",
        "--print",
        action="store_true",
        help="print the answer to one question and leave; text from a pipe is added to the question",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="like -p, but print a JSON object with the answer and how it ended, or with the error",
    )
    parser.add_argument(
        "--accept-edits",
        action="store_true",
        help="let the model change files without asking; /revert takes edits back",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--new", action="store_true", help="begin a new conversation instead of continuing the newest one"
    )
    which.add_argument(
        "--resume",
        metavar="CONVERSATION",
        default="",
        help="continue this conversation: its number as `palimpsest export` lists it, or how its title or id begins",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    is_one_shot = arguments.print or arguments.json
    folder, question = _meant(arguments.folder, arguments.question, is_one_shot)
    with fast_imports("terminal"):
        from palimpsest.terminal.chat import Wish
        from palimpsest.terminal.chat import run as run_chat
    wish = Wish(folder, arguments.new, arguments.resume, question, is_one_shot, arguments.json, arguments.accept_edits)
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
