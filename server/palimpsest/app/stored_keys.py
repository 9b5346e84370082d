"""Stored keys: in the system's keyring, or each in a small file that only its user can read.

The keyring is used when the package `keyring` is installed (the extra `palimpsest-ls[keyring]`) and one of its backends
works. Each stored key has a file, also when its value is in the keyring: so nobody without a stored key waits for a
keyring, which may take seconds to find and may ask the user to unlock it.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import platformdirs

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.settings.settings import PROVIDER_NAME
from palimpsest.services.models.keys import Key

log = logging.getLogger(__name__)

T = TypeVar("T")

SERVICE: Final = "palimpsest"
"""The name of the service in the keyring; the provider is the user name."""
_READ_S: Final = 5.0
"""The longest wait of a server for the keyring."""
_ASKED_S: Final = 60.0
"""The longest wait for a user who unlocks the keyring to store or remove a key."""


class Keyring(Protocol):
    """The used part of a backend of `keyring`. Its methods may raise anything."""

    def get_password(self, service: str, username: str) -> str | None: ...

    def set_password(self, service: str, username: str, password: str) -> None: ...

    def delete_password(self, service: str, username: str) -> None: ...


def find_keyring() -> Keyring | None:
    """The system's keyring; None when the package is missing, or has no safe backend on this machine."""
    try:
        backend: Any = importlib.import_module("keyring").get_keyring()
        # The package recommends backends from priority 1 on; below are null, fail and plain text.
        return backend if backend.priority >= 1 else None
    except ImportError:
        return None
    except Exception as error:  # backends are foreign code, loaded by name from the user's configuration
        log.info("the keyring cannot be used (%s)", type(error).__name__)
        return None


@dataclass(frozen=True, slots=True)
class StoredKeys:
    """One file per provider, so that two processes that store and remove at the same time lose nothing."""

    directory: Path
    """May be missing."""
    find_keyring: Callable[[], Keyring | None] = find_keyring
    read_s: float = _READ_S

    def read(self) -> dict[str, Key]:
        found: dict[str, Key] = {}
        for provider in self._providers():
            try:
                key = self._read(provider)
            except Exception as error:  # also errors of a backend, whose text may contain anything
                log.warning(
                    "The stored key for %s cannot be read (%s). Enter it again with `palimpsest login %s`.",
                    *(provider, type(error).__name__, provider),
                )
                continue
            if key is not None:
                found[provider] = key
        return found

    def stamp(self) -> tuple[tuple[str, tuple[int, int] | None], ...]:
        return tuple((provider, _stamp(self._path(provider))) for provider in self._providers())

    def write(self, provider: str, key: Key) -> str:
        is_in_keyring = self._keep_in_keyring(provider, key.text)
        path = self._path(provider)
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            # A complete file of mode 0600, or none.
            descriptor, name = tempfile.mkstemp(dir=self.directory, prefix=".")
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(({"keyring": True} if is_in_keyring else {"key": key.text}) | {"origin": key.origin}, file)
            Path(name).replace(path)
        except OSError as error:
            raise InvalidRequest(f"The key for {provider} could not be stored: {error.strerror}.") from error
        if is_in_keyring:
            return "in the system's keyring"
        return f"in {path}, which only you can read, because no keyring of the system can be used here"

    def remove(self, provider: str) -> bool:
        path = self._path(provider)
        entry = self._entry(provider)
        if entry is None:
            return False
        if "keyring" in entry and (keyring := self.find_keyring()) is not None:
            try:
                _within(_ASKED_S, lambda: _delete(keyring, provider))
            except Exception as error:
                raise InvalidRequest(
                    f"The key for {provider} is still in the system's keyring, which refused ({type(error).__name__}). "
                    f"Remove the entry {SERVICE!r} there."
                ) from None
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InvalidRequest(f"The key for {provider} is still stored: {error.strerror}. Remove {path}.") from error
        return True

    def _providers(self) -> list[str]:
        """The providers with a file, by name."""
        try:
            names = [path.stem for path in self.directory.iterdir() if path.suffix == ".json"]
        except OSError:
            return []
        return sorted(name for name in names if PROVIDER_NAME.fullmatch(name))

    def _read(self, provider: str) -> Key | None:
        entry = self._entry(provider)
        if entry is None:
            return None
        origin = None if entry.get("origin") is None else str(entry["origin"])
        if "keyring" not in entry:
            return Key(str(entry["key"]), origin)
        keyring = self.find_keyring()
        if keyring is None:
            raise LookupError("no keyring")
        key = _within(self.read_s, lambda: keyring.get_password(SERVICE, provider))
        if key is None:
            raise LookupError("not in the keyring")
        return Key(key, origin)

    def _entry(self, provider: str) -> Mapping[str, Any] | None:
        """The content of the file; None without a file, empty for an invalid one."""
        try:
            entry = json.loads(self._path(provider).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ValueError:
            return {}
        return entry if isinstance(entry, dict) else {}

    def _keep_in_keyring(self, provider: str, key: str) -> bool:
        """Write a key to the keyring. Returns whether it can be read back."""
        keyring = self.find_keyring()
        if keyring is None:
            return False

        def keep() -> bool:
            keyring.set_password(SERVICE, provider, key)
            return keyring.get_password(SERVICE, provider) == key

        try:
            return _within(_ASKED_S, keep)
        except Exception as error:
            log.info("the keyring did not take a key (%s)", type(error).__name__)
            return False

    def _path(self, provider: str) -> Path:
        return self.directory / f"{provider}.json"


def stored_keys() -> StoredKeys:
    """The stored keys of the user who runs this process."""
    return StoredKeys(Path(platformdirs.user_data_dir("palimpsest", appauthor=False)) / "keys")


def _stamp(path: Path) -> tuple[int, int] | None:
    """The identity of a file, which changes with every write."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _delete(keyring: Keyring, provider: str) -> None:
    """Remove a key from the keyring. A missing one is not an error."""
    if keyring.get_password(SERVICE, provider) is not None:
        keyring.delete_password(SERVICE, provider)


def _within(seconds: float, call: Callable[[], T]) -> T:
    """The result of `call`, or its error; TimeoutError when it takes longer. Its thread then goes on alone, because a
    keyring that waits for its user cannot be stopped."""
    results: list[T] = []
    errors: list[Exception] = []

    def run() -> None:
        try:
            results.append(call())
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="keyring", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError("the keyring does not answer")
    if errors:
        raise errors[0]
    return results[0]
