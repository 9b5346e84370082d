"""`palimpsest login` and `palimpsest logout`: a key is asked for, tried at its service, and kept for later servers."""

from __future__ import annotations

import argparse
import asyncio
import getpass
import os
import sys

from palimpsest.app.model_clients import ModelClient, address_of, build_client
from palimpsest.app.places import user_file
from palimpsest.app.settings_files import load_settings
from palimpsest.app.stored_keys import environment_keys, stored_keys
from palimpsest.domain.errors import ErrorKind, InvalidRequest, ProviderError
from palimpsest.domain.models.provider import LiveProvider
from palimpsest.domain.models.providers import one_of_those_with_key
from palimpsest.printing import say
from palimpsest.services.models.keys import KEY_VARIABLES, check_takes_key


def configure_login(parser: argparse.ArgumentParser) -> None:
    # No `choices`: argparse would quote what it refuses, and that may be a key.
    parser.add_argument("provider", metavar="PROVIDER", help=one_of_those_with_key())
    parser.set_defaults(run=log_in)


def configure_logout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("provider", metavar="PROVIDER", help=one_of_those_with_key())
    parser.set_defaults(run=log_out)


def log_in(arguments: argparse.Namespace) -> int:
    """Raises InvalidRequest or ProviderError when nothing was stored: the service refused the key, or it is none."""
    provider = arguments.provider
    check_takes_key(provider)
    key = _ask(provider)
    if not key:
        raise InvalidRequest(f"No key was entered; what was stored for {provider} stays as it was.")
    address = address_of(os.environ, load_settings(user_file(), None, os.environ, None), provider)
    doubt = asyncio.run(_try(build_client(provider, key, address)))
    place = stored_keys().write(provider, key)
    said = [f"The key for {provider} is kept {place}. It counts at once, in servers that run too."]
    if doubt is not None:
        said.append(f"It could not be tried: {doubt}")
    if provider in environment_keys(os.environ):
        variables = " or ".join(KEY_VARIABLES[provider])
        said.append(f"Where {variables} is set, as it is here, that counts before it.")
    say(*said)
    return 0


def log_out(arguments: argparse.Namespace) -> int:
    """Raises InvalidRequest when the key is still there."""
    provider = arguments.provider
    check_takes_key(provider)
    if stored_keys().remove(provider):
        said = f"The key for {provider} is removed. It counts no longer, in servers that run neither."
    else:
        said = f"No key for {provider} was stored."
    if provider in environment_keys(os.environ):
        said += f" The one in the environment ({' or '.join(KEY_VARIABLES[provider])}) still counts."
    say(said)
    return 0


def _ask(provider: str) -> str:
    """Without echo; from a pipe, the first line."""
    try:
        typed = getpass.getpass(f"Key for {provider}: ") if sys.stdin.isatty() else sys.stdin.readline()
    except (EOFError, KeyboardInterrupt):
        sys.stderr.write("\n")
        return ""
    return typed.strip()


async def _try(client: ModelClient) -> str | None:
    """Why it cannot be said whether the service takes the key; None when it does. Raises ProviderError when not.

    The list of models costs nothing, and every service asks for the key first.
    """
    try:
        if isinstance(client, LiveProvider):
            await client.models()
    except ProviderError as error:
        match error.kind:
            case ErrorKind.AUTH:
                raise
            case ErrorKind.RATE_LIMITED | ErrorKind.QUOTA:
                return None  # it knows whose key it is
            case _:
                return str(error)
    finally:
        await client.aclose()
    return None
