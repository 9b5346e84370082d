"""`palimpsest login` and `palimpsest logout`: the stored keys of the model services."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
import sys

from palimpsest.app.model_clients import address_of, ask_service, build_client
from palimpsest.app.places import user_file
from palimpsest.app.settings_files import load_settings
from palimpsest.app.stored_keys import environment_keys, stored_keys
from palimpsest.domain.errors import ErrorDetail, ErrorKind, InvalidRequest, ProviderError
from palimpsest.domain.models.providers import one_of_those_with_key
from palimpsest.printing import say
from palimpsest.services.models.keys import KEY_VARIABLES, check_takes_key
from palimpsest.services.models.model_services import Verdict


def configure_login(parser: argparse.ArgumentParser) -> None:
    # No `choices`: argparse would print the refused word, which may be a key.
    parser.add_argument("provider", metavar="PROVIDER", help=one_of_those_with_key())
    parser.set_defaults(run=log_in)


def configure_logout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("provider", metavar="PROVIDER", help=one_of_those_with_key())
    parser.set_defaults(run=log_out)


def log_in(arguments: argparse.Namespace) -> int:
    """Read a key, try it at its service and store it. Raises InvalidRequest when no key was entered, ProviderError when
    the service refuses it; nothing is stored then."""
    provider = arguments.provider
    check_takes_key(provider)
    key = _ask(provider)
    if not key:
        raise InvalidRequest(f"No key was entered. The stored key for {provider} is unchanged.")
    address = address_of(os.environ, load_settings(user_file(), None, os.environ, None), provider)
    answer = asyncio.run(ask_service(build_client(provider, key, address)))
    if answer.verdict is Verdict.REFUSED:
        raise ProviderError(ErrorKind.AUTH, answer.sentence, ErrorDetail(provider=provider))
    place = stored_keys().write(provider, key)
    said = [f"The key for {provider} is stored {place}. Running servers use it from now on."]
    if answer.sentence:
        said.append(f"The key could not be tried: {answer.sentence}")
    if provider in environment_keys(os.environ):
        variables = " or ".join(KEY_VARIABLES[provider])
        said.append(f"{variables} is set in this environment. Where it is set, it is used instead of the stored key.")
    say(*said)
    return 0


def log_out(arguments: argparse.Namespace) -> int:
    """Remove a stored key. Raises InvalidRequest when it cannot be removed."""
    provider = arguments.provider
    check_takes_key(provider)
    if stored_keys().remove(provider):
        said = f"The key for {provider} is removed. Running servers no longer use it."
    else:
        said = f"There is no stored key for {provider}."
    if provider in environment_keys(os.environ):
        said += f" The key in the environment ({' or '.join(KEY_VARIABLES[provider])}) is still used."
    say(said)
    return 0


def _ask(provider: str) -> str:
    """Read the key without echo, or the first line of a pipe. Empty when nothing was entered."""
    try:
        typed = getpass.getpass(f"Key for {provider}: ") if sys.stdin.isatty() else sys.stdin.readline()
    except (EOFError, KeyboardInterrupt):
        sys.stderr.write("\n")
        return ""
    return typed.strip()
