"""`palimpsest hub`: what the administrator of a hub does, and a hub of one's own."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from palimpsest.app.hubs import local_folder
from palimpsest.app.places import read_places, user_file
from palimpsest.app.settings_files import load_settings
from palimpsest.cli.extras import has_extra
from palimpsest.cli.parser import add_action, examples
from palimpsest.domain.errors import InvalidRequest
from palimpsest.printing import say, say_json
from palimpsest.wording import counted

if TYPE_CHECKING:
    from palimpsest_hub.local import LocalHub

_ADDRESS: Final = "HUB_ADMIN"
"""The variable of the administrator's address. Names that begin with PALIMPSEST_ are those of settings."""
_ROLES: Final = ("reader", "writer", "admin")
_TOKEN_DAYS: Final = 90


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Set up and manage a hub: a PostgreSQL database through which a team, or your own machines, have the same "
        "conversations. Members of a team need none of this: they set `hub.url`, and type /share in a chat. It needs "
        "the extra `hub`; where that is missing, the command that adds it is printed. docs/hub.md tells the whole."
    )
    parser.epilog = examples(
        "palimpsest hub local start                               # a hub of your own on this machine",
        "palimpsest hub --address postgresql://owner@hub.example.org/hub setup",
        "palimpsest hub member add ann platform --login ann       # prints ann's password",
    )
    parser.add_argument(
        "--address",
        default=os.environ.get(_ADDRESS),
        help=f"the address of the database, for its owner (default: the variable {_ADDRESS}, else your own hub)",
    )
    parser.add_argument(
        "--folder", type=Path, help="where your own hub is kept (default: in the data folder of Palimpsest)"
    )
    actions = parser.add_subparsers(title="actions", dest="action", required=True, metavar="ACTION")
    setting_up = add_action(actions, "setup", "make the tables of a hub in a database, or bring them up to date")
    setting_up.add_argument("--restored", action="store_true", help="say that the database was restored from a backup")
    setting_up.add_argument(
        "--shared-login", metavar="LOGIN", help="also make one login for all members, who then also need a token each"
    )
    member = add_action(actions, "member", "add, remove and list the members of teams")
    member_actions = member.add_subparsers(dest="member_action", required=True, metavar="ACTION")
    adding = add_action(member_actions, "add", "add a member to a team, or change the role")
    adding.add_argument("name", metavar="NAME", help="the name that the team sees")
    adding.add_argument("team", metavar="TEAM", help="the team; a new one is made")
    adding.add_argument("--role", choices=_ROLES, default="writer", help="what the member may do (default: writer)")
    adding.add_argument("--login", help="also make a login for the member alone, and print its password")
    removing = add_action(member_actions, "remove", "take a member out of a team")
    removing.add_argument("name", metavar="NAME", help="the name of the member")
    removing.add_argument("team", metavar="TEAM", help="the team")
    listing = add_action(member_actions, "list", "list the members of all teams")
    listing.add_argument("--json", action="store_true", help="print one JSON object per line")
    token = add_action(actions, "token", "make and end tokens, which tell members with one login apart")
    token_actions = token.add_subparsers(dest="token_action", required=True, metavar="ACTION")
    creating = add_action(token_actions, "create", "make a token for a member, and print it")
    creating.add_argument("name", metavar="NAME", help="the name of the member")
    creating.add_argument(
        "--days", type=int, metavar="N", default=_TOKEN_DAYS, help=f"how many days it works (default: {_TOKEN_DAYS})"
    )
    revoking = add_action(token_actions, "revoke", "end all tokens of a member")
    revoking.add_argument("name", metavar="NAME", help="the name of the member")
    add_action(actions, "doctor", "check that the hub is set up rightly and holds nothing damaged")
    exporting = add_action(actions, "export", "print all that the hub holds of a team, one JSON object per line")
    exporting.add_argument("team", metavar="TEAM", help="the name of the team")
    local = add_action(actions, "local", "run a hub of your own on this machine")
    local.add_argument(
        "what",
        choices=("start", "stop", "status"),
        help="start it, stop it, or print whether it runs; the first start makes it",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run one action; return the exit code. Raises PalimpsestError."""
    if not has_extra("hub"):
        return 2
    from palimpsest_hub.errors import HubRefused, HubUnreachable

    try:
        if arguments.action == "local":
            return _local(arguments)
        return _administer(arguments, _admin_address(arguments))
    except (HubRefused, HubUnreachable) as error:
        raise InvalidRequest(str(error)) from error


def _administer(arguments: argparse.Namespace, address: str) -> int:
    match arguments.action:
        case "setup":
            _set_up(arguments, address)
        case "member":
            _member(arguments, address)
        case "token":
            _token(arguments, address)
        case "doctor":
            return _doctor(address)
        case "export":
            from palimpsest_hub.inspection import export

            for row in export(address, arguments.team):
                say_json(row)
    return 0


def _set_up(arguments: argparse.Namespace, address: str) -> None:
    from palimpsest_hub import administration
    from palimpsest_hub.migration import set_up

    missing = set_up(address, is_restored=arguments.restored)
    say("The hub's schema is set up." if missing else "The hub's schema is up to date.")
    if arguments.shared_login is not None:
        made = administration.make_login(address, arguments.shared_login, None)
        say(f"Password of the login {made.name}, shown once: {made.password}")


def _member(arguments: argparse.Namespace, address: str) -> None:
    from palimpsest_hub import administration

    match arguments.member_action:
        case "add":
            administration.add_member(address, arguments.team, arguments.name, arguments.role)
            say(f"{arguments.name} is in the team {arguments.team} as {arguments.role}.")
            if arguments.login is not None:
                made = administration.make_login(address, arguments.login, arguments.name)
                say(f"Password of the login {made.name}, shown once: {made.password}")
        case "remove":
            administration.remove_member(address, arguments.team, arguments.name)
            say(f"{arguments.name} has left the team {arguments.team}. What was read before stays where it was read.")
        case "list":
            for each in administration.list_members(address):
                fields = {name: getattr(each, name) for name in ("team", "name", "role", "login", "n_tokens")}
                if arguments.json:
                    say_json(fields)
                else:
                    way = f"login {each.login}" if each.login else counted(each.n_tokens, "token")
                    say(f"{each.team}: {each.name}, {each.role}, {way}")


def _token(arguments: argparse.Namespace, address: str) -> None:
    from palimpsest_hub import administration

    if arguments.token_action == "revoke":
        ended = administration.revoke_tokens(address, arguments.name)
        say(f"{counted(ended, 'token')} of {arguments.name} ended.")
    elif arguments.days < 1:
        raise InvalidRequest("A token works for at least one day.")
    else:
        token = administration.create_token(address, arguments.name, arguments.days)
        say(f"Token of {arguments.name} for {counted(arguments.days, 'day')}, shown once: {token}")


def _doctor(address: str) -> int:
    from palimpsest_hub.inspection import examine

    findings = examine(address)
    say(*(f"{'!' if each.is_trouble else '-'} {each.sentence}" for each in findings))
    return 1 if any(each.is_trouble for each in findings) else 0


def _local(arguments: argparse.Namespace) -> int:
    hub = _local_hub(arguments)
    match arguments.what:
        case "start":
            was_stopped = hub.start()
            say("The hub runs." if was_stopped else "The hub runs already.", *_how_to_reach(hub))
        case "stop":
            say("The hub is stopped." if hub.stop() else "The hub was not running.")
        case "status":
            if not hub.exists:
                say("There is no hub of your own yet. `palimpsest hub local start` makes one.")
                return 1
            is_running = hub.is_running()
            say(
                "The hub runs." if is_running else "The hub is stopped. `palimpsest hub local start` starts it.",
                *_how_to_reach(hub),
            )
            return 0 if is_running else 1
    return 0


def _how_to_reach(hub: LocalHub) -> list[str]:
    from palimpsest_hub.local import DATABASE, LOGIN

    return [
        "On this machine, set hub.url to `local`.",
        f"On another machine of yours, copy {hub.passfile} to ~/.hub/passfile, have SSH carry the socket, and set "
        f'hub.url to "host=/home/you/.hub dbname={DATABASE} user={LOGIN} passfile=/home/you/.hub/passfile":',
        f"    ssh -fN -o StreamLocalBindUnlink=yes -L /home/you/.hub/{hub.socket.name}:{hub.socket} REMOTE",
    ]


def _local_hub(arguments: argparse.Namespace) -> LocalHub:
    from palimpsest_hub.local import LocalHub

    settings = load_settings(user_file(), None, os.environ, None)
    folder: Path = arguments.folder or local_folder(read_places(settings))
    return LocalHub(folder.absolute())


def _admin_address(arguments: argparse.Namespace) -> str:
    """The address of the hub's administrator. Raises InvalidRequest when there is none."""
    if arguments.address:
        return str(arguments.address)
    local = _local_hub(arguments)
    if not local.exists:
        raise InvalidRequest(
            f"Name the hub's database with --address or {_ADDRESS}, such as "
            "postgresql://owner@hub.example.org/hub; `palimpsest hub local start` makes a hub of your own."
        )
    if not local.is_running():
        raise InvalidRequest("Your own hub is stopped. `palimpsest hub local start` starts it.")
    return local.admin_address
