"""`palimpsest login` and `palimpsest logout`: the stored keys of the model services."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
import sys
from typing import Final

from palimpsest.app.model_clients import ask_service, build_client
from palimpsest.app.places import user_file
from palimpsest.app.settings_files import load_settings
from palimpsest.app.stored_keys import stored_keys
from palimpsest.cli.parser import examples
from palimpsest.domain.errors import ErrorDetail, ErrorKind, InvalidRequest, ProviderError
from palimpsest.domain.models.providers import ProviderEntry, configured
from palimpsest.printing import say
from palimpsest.services.models.keys import Key, find_entry
from palimpsest.services.models.model_services import Verdict

_NAMES: Final = "the service, such as anthropic, openai, gemini or openrouter; or one of your own settings"


def configure_login(parser: argparse.ArgumentParser) -> None:
    # No `choices`: argparse would print the refused word, which may be a key.
    parser.description = (
        "Save your key of a model service. The key is asked for and not shown, tried at the service, and kept in your "
        "system's keyring, or in a file that only you can read. From a pipe, the first line is the key."
    )
    parser.epilog = examples(
        "palimpsest login anthropic",
        "pass show openai | palimpsest login openai",
    )
    parser.add_argument("provider", metavar="SERVICE", help=_NAMES)
    parser.add_argument("key", nargs="*", default=[], help=argparse.SUPPRESS)  # refused by us: argparse would print it
    parser.set_defaults(run=log_in)


def configure_logout(parser: argparse.ArgumentParser) -> None:
    parser.epilog = examples("palimpsest logout anthropic")
    parser.add_argument("provider", metavar="SERVICE", help=_NAMES)
    parser.set_defaults(run=log_out)


def log_in(arguments: argparse.Namespace) -> int:
    """Read a key, try it at its service and store it. Raises InvalidRequest when no key was entered, ProviderError when
    the service refuses it; nothing is stored then."""
    if arguments.key:
        raise InvalidRequest(
            "Do not type the key behind the name: it would stay in your shell's history. It is asked for."
        )
    entry = _entry(arguments.provider)
    provider = entry.name
    key = _ask(provider)
    if not key:
        raise InvalidRequest(f"No key was entered, so nothing is changed for {provider}.")
    answer = asyncio.run(ask_service(build_client(entry, key)))
    if answer.verdict is Verdict.REFUSED:
        raise ProviderError(ErrorKind.AUTH, answer.sentence, ErrorDetail(provider=provider))
    place = stored_keys().write(provider, Key(key, entry.origin))
    said = [f"The key for {provider} is stored {place}. Running servers use it from now on."]
    if answer.sentence:
        said.append(f"The key could not be tried: {answer.sentence}")
    if _is_in_environment(entry):
        variables = " or ".join(entry.key_variables)
        said.append(f"{variables} is set in this environment. Where it is set, it is used instead of the stored key.")
    say(*said)
    return 0


def log_out(arguments: argparse.Namespace) -> int:
    """Remove a saved key. Raises InvalidRequest when it cannot be removed."""
    entry = _entry(arguments.provider)
    provider = entry.name
    if stored_keys().remove(provider):
        said = f"The key for {provider} is removed. Running servers no longer use it."
    else:
        said = f"There is no stored key for {provider}."
    if _is_in_environment(entry):
        said += f" The key in the environment ({' or '.join(entry.key_variables)}) is still used."
    say(said)
    return 0


def _entry(provider: str) -> ProviderEntry:
    settings = load_settings(user_file(), None, os.environ, None)
    return find_entry(configured(settings.providers, os.environ), provider)


def _is_in_environment(entry: ProviderEntry) -> bool:
    return any(os.environ.get(variable) for variable in entry.key_variables)


def _ask(provider: str) -> str:
    """Read the key without echo, or the first line of a pipe. Empty when nothing was entered."""
    try:
        typed = getpass.getpass(f"Key for {provider}: ") if sys.stdin.isatty() else sys.stdin.readline()
    except (EOFError, KeyboardInterrupt):
        sys.stderr.write("\n")
        return ""
    return typed.strip()
