"""`palimpsest mcp-servers`: the MCP servers whose tools models may call in a folder, and a try of one."""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path

from palimpsest.app.mcp_connections import connect, is_installed
from palimpsest.app.places import user_file
from palimpsest.app.settings_files import load_settings
from palimpsest.app.trusted_folders import trusted_folders
from palimpsest.cli.parser import add_action, examples, takes_folder
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.domain.mcp.folder_files import Configured, together
from palimpsest.domain.mcp.offered import Offer
from palimpsest.machine.extras import Extra, missing
from palimpsest.printing import complain, say
from palimpsest.services.mcp.connection import McpFailure
from palimpsest.services.mcp.servers import carried_out, read_files
from palimpsest.wording import counted


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List the MCP servers that models may use in a folder, or try one. An MCP server is a program, or an address, "
        "that gives a model more tools, such as a search of your issues. You name servers in your settings; files of "
        "the folder can name some too. Trying one needs the extra `mcp`; where that is missing, the "
        "command that adds it is printed."
    )
    parser.epilog = examples(
        "palimpsest mcp-servers list",
        "palimpsest mcp-servers test issues     # start the server `issues`, and list its tools",
    )
    commands = parser.add_subparsers(title="actions", required=True, metavar="ACTION")
    listing = add_action(commands, "list", "list the servers and start none")
    testing = add_action(commands, "test", "start one server, list what it offers, and end it")
    testing.add_argument("name", metavar="NAME", help="the name of the server, as `list` shows it")
    testing.add_argument(
        "--yes", action="store_true", help="start it although a file of the folder names it, and not your settings"
    )
    for each, run in ((listing, run_list), (testing, run_test)):
        takes_folder(each, name="--folder")
        each.set_defaults(run=run)


def run_list(arguments: argparse.Namespace) -> int:
    """Print the servers. Which of them the user has approved is kept in the folder's store, and not shown."""
    found = _configured(arguments.folder.resolve())
    for problem in found.problems:
        complain(problem)
    for config in found.servers:
        off = "" if config.is_enabled else ", switched off"
        trusted = ", trusted" if config.is_trusted else ""
        say(f"{config.name}  ({config.origin.value}{off}{trusted})", *_indented(config.shown))
    if not found.servers:
        say(f"No MCP server is configured. Name one in {user_file()}, as [mcp.NAME] with a command or a url.")
    if not is_installed() and found.servers:
        complain(missing(Extra.MCP))
    return 0


def run_test(arguments: argparse.Namespace) -> int:
    root = arguments.folder.resolve()
    found = {each.name: each for each in _configured(root).servers}
    config = found.get(arguments.name)
    if config is None:
        raise NotFound(f"There is no server {arguments.name!r}. Known servers: {', '.join(found) or 'none'}.")
    if config.needs_approval and not arguments.yes:
        say(f"{config.origin.value} of this folder asks for this:", *_indented(config.shown))
        raise InvalidRequest("Nothing was started. If you want to run exactly this, add --yes.")
    if not root.is_dir():
        raise InvalidRequest(f"{root} is not a folder.")
    try:
        offer = asyncio.run(_offer(carried_out(config, os.environ, root)))
    except McpFailure as failure:
        said = f' It said: "{failure.detail}".' if failure.detail else ""
        raise InvalidRequest(f"{failure}{said}") from None
    _print(config, offer)
    return 0


def _configured(root: Path) -> Configured:
    """The servers of the user and, in a folder that the user's own list trusts, those of its files."""
    user = Configured(tuple(load_settings(user_file(), None, os.environ, None).mcp.values()))
    if root in trusted_folders():
        return together([user, read_files(root)])
    return together([user])


async def _offer(config: ServerConfig) -> Offer:
    try:
        waiting = asyncio.timeout(config.start_timeout_s)
        async with waiting, connect(config) as connection:
            offer = await connection.offer()
            waiting.reschedule(None)
            return offer
    except TimeoutError:
        raise McpFailure(f"The server did not answer within {config.start_timeout_s} s.") from None


def _print(config: ServerConfig, offer: Offer) -> None:
    say(f"The server {config.name} runs. It offers {counted(len(offer.tools), 'tool')}:")
    for tool in offer.tools:
        free = config.is_trusted and tool.is_read_only
        first = (tool.schema.description.splitlines() or [""])[0][:100]
        say(f"  {tool.schema.name}  ({'runs without asking' if free else 'you are asked'})  {first}")
    for noun, names in (
        ("resource", [f"@{config.name}:{each.uri}" for each in offer.resources]),
        ("prompt", [f"/{config.name}:{each.name}" for each in offer.prompts]),
    ):
        if names:
            say(f"{counted(len(names), noun)}:", *(f"  {name}" for name in names))
    for problem in offer.problems:
        complain(problem)


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]
