"""`palimpsest login` and `palimpsest logout`: a key is asked for, tried at its service, and kept for later servers."""

from __future__ import annotations

import asyncio
import getpass
import sys
from collections.abc import Mapping

from palimpsest.app import user_file
from palimpsest.configuration import load_settings
from palimpsest.credentials import environment_keys, stored_keys
from palimpsest.domain.errors import ErrorKind, InvalidRequest, ProviderError
from palimpsest.domain.models.provider import LiveProvider
from palimpsest.model_clients import ModelClient, address_of, build_client
from palimpsest.printing import say
from palimpsest.services.models.keys import KEY_VARIABLES, check_takes_key


def log_in(provider: str, environ: Mapping[str, str]) -> int:
    """Raises InvalidRequest or ProviderError when nothing was stored: the service refused the key, or it is none."""
    check_takes_key(provider)
    key = _ask(provider)
    if not key:
        raise InvalidRequest(f"No key was entered; what was stored for {provider} stays as it was.")
    address = address_of(environ, load_settings(user_file(), None, environ, None), provider)
    doubt = asyncio.run(_try(build_client(provider, key, address)))
    place = stored_keys().write(provider, key)
    said = [f"The key for {provider} is kept {place}. It counts at once, in servers that run too."]
    if doubt is not None:
        said.append(f"It could not be tried: {doubt}")
    if provider in environment_keys(environ):
        variables = " or ".join(KEY_VARIABLES[provider])
        said.append(f"Where {variables} is set, as it is here, that counts before it.")
    say(*said)
    return 0


def log_out(provider: str, environ: Mapping[str, str]) -> int:
    """Raises InvalidRequest when the key is still there."""
    check_takes_key(provider)
    if stored_keys().remove(provider):
        said = f"The key for {provider} is removed. It counts no longer, in servers that run neither."
    else:
        said = f"No key for {provider} was stored."
    if provider in environment_keys(environ):
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
