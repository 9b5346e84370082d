"""Limits from the providers' own lists of models, cached with their dates in one file for all folders.

Nothing waits for the network: the cached limits count at once, and a list that is older than a day is requested in the
background, from configured providers only. A failure is logged, and the cached limits stay.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NewType

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.models.limits import ModelLimits
from palimpsest.domain.models.provider import LiveModel, LiveProvider, Provider
from palimpsest.machine import machine, utc_now
from palimpsest_clients.rendering import model_family

log = logging.getLogger(__name__)

FILE_NAME: Final = "live-limits.json"
_FORMAT: Final = 1
_GOOD_FOR: Final = timedelta(days=1)
_NEXT_TRY: Final = timedelta(hours=1)
"""The time until the next try after a failure, within one process."""

_Key = NewType("_Key", str)
"""A provider at an address, as a digest. The address may have a password and is not written anywhere."""


@dataclass(frozen=True, slots=True)
class _Told:
    """The list of a provider."""

    at: str
    """The time of the answer: UTC, ISO 8601."""
    models: tuple[LiveModel, ...]


class LiveLimits:
    """The limits of a process. Its methods are called in one event loop."""

    def __init__(self, file: Path, now: Callable[[], str] = utc_now) -> None:
        """`file` and its folder are created by the first write."""
        self._file = file
        self._now = now
        self._told: dict[_Key, _Told] = {}
        self._is_read = False
        self._limits: dict[frozenset[tuple[str, _Key]], dict[str, ModelLimits]] = {}
        """The returned dicts, by their arguments."""
        self._asked_at: dict[_Key, tuple[str, LiveProvider]] = {}
        """The time and the client of the last request: a client with another key may get what the last one did not."""
        self._asking: dict[_Key, asyncio.Task[None]] = {}
        self._at_file = asyncio.Lock()

    async def of(self, providers: Mapping[str, Provider], addresses: Mapping[str, str]) -> dict[str, ModelLimits]:
        """The limits by `PROVIDER/MODEL`, with the provider's own name of the model. Equal arguments return the same
        dict, which changes when an answer comes.

        `addresses`: the user's addresses by provider; a missing provider is at its usual address.
        """
        async with self._at_file:
            if not self._is_read:
                self._told = await asyncio.to_thread(_read, self._file)
                self._is_read = True
        keys = {name: _key(name, addresses.get(name)) for name in providers}
        given = self._limits.setdefault(frozenset(keys.items()), {})
        for name, key in keys.items():
            provider = providers[name]
            if isinstance(provider, LiveProvider):
                if key in self._told:
                    _take_over(given, name, self._told[key].models)
                if self._is_due(key, provider):
                    self._begin(key, provider)
        return given

    async def settle(self) -> None:
        """Wait until no request is running."""
        await asyncio.gather(*self._asking.values())

    async def close(self) -> None:
        """Stops asking."""
        tasks = list(self._asking.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _is_due(self, key: _Key, provider: LiveProvider) -> bool:
        told = self._told.get(key)
        if key in self._asking or (told is not None and self._is_within(told.at, _GOOD_FOR)):
            return False
        at, through = self._asked_at.get(key, ("", None))
        return through is not provider or not self._is_within(at, _NEXT_TRY)

    def _is_within(self, at: str, span: timedelta) -> bool:
        """Whether the answer is recent. A time in the future is not: a clock was wrong."""
        return timedelta(0) <= datetime.fromisoformat(self._now()) - datetime.fromisoformat(at) <= span

    def _begin(self, key: _Key, provider: LiveProvider) -> None:
        self._asked_at[key] = self._now(), provider
        task = asyncio.create_task(self._ask(key, provider), name=f"models of {provider.name}")
        self._asking[key] = task
        task.add_done_callback(lambda _: self._asking.pop(key))

    async def _ask(self, key: _Key, provider: LiveProvider) -> None:
        try:
            models = await provider.models()
        except PalimpsestError as error:
            log.info("%s did not send its list of models: %s", provider.name, error.kind)
            return
        except Exception:
            log.exception("requesting the models of %s failed", provider.name)
            return
        if not models:  # an empty list says nothing about any model
            return
        told = _Told(self._now(), tuple(models))
        self._told[key] = told
        for names_and_keys, given in self._limits.items():
            for name, each in names_and_keys:
                if each == key:
                    _take_over(given, name, told.models)
        async with self._at_file:
            await asyncio.to_thread(_add, self._file, key, told)


def _key(name: str, address: str | None) -> _Key:
    return _Key(name if address is None else f"{name}@{hashlib.sha256(address.encode()).hexdigest()[:16]}")


def _take_over(limits: dict[str, ModelLimits], provider: str, models: Sequence[LiveModel]) -> None:
    """Set the limits of `provider` in `limits` to those of `models`. A name without a date means its newest snapshot,
    unless it is listed itself."""
    exact = {model.service_name: model.limits for model in models if model.limits is not None}
    undated = {model_family(name): exact[name] for name in sorted(exact)}
    found = {f"{provider}/{name}": each for name, each in {**undated, **exact}.items()}
    limits.update(found)  # before any removal, so that no limit is missing meanwhile
    for name in [name for name in limits if name.startswith(f"{provider}/") and name not in found]:
        del limits[name]


def _read(file: Path) -> dict[_Key, _Told]:
    """The cached lists; empty for a missing or invalid file."""
    try:
        data = json.loads(file.read_bytes())
        if data["format"] != _FORMAT:
            return {}
        return {_Key(key): _told_from(entry) for key, entry in data["providers"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, LookupError, TypeError, AttributeError, ValueError, RecursionError, PalimpsestError) as error:
        log.info("the cached limits of models could not be read (%s)", type(error).__name__)
        return {}


def _told_from(entry: Mapping[str, Any]) -> _Told:
    if datetime.fromisoformat(entry["at"]).tzinfo is None:
        raise ValueError("a time without its zone")
    return _Told(entry["at"], tuple(_model_from(name, numbers) for name, numbers in entry["models"].items()))


def _model_from(name: str, numbers: Sequence[int | None] | None) -> LiveModel:
    """`numbers`: window, output, input or None, and whether it sees pictures or None; None instead of the list when the
    provider only named the model."""
    if numbers is None:
        return LiveModel(name, None)
    window, max_output, max_input, *rest = numbers
    if not isinstance(window, int) or not isinstance(max_output, int) or not isinstance(max_input, int | None):
        raise TypeError("limits that are not numbers")
    sees = rest[0] if rest else None
    return LiveModel(name, ModelLimits(window, max_output, max_input, None if sees is None else bool(sees)))


def _entry(told: _Told) -> dict[str, Any]:
    """The form that `_told_from` reads."""
    return {"at": told.at, "models": {each.service_name: _numbers(each.limits) for each in told.models}}


def _numbers(limits: ModelLimits | None) -> list[int | None] | None:
    if limits is None:
        return None
    numbers = [limits.window, limits.max_output, limits.max_input]
    return numbers if limits.images is None else [*numbers, limits.images]


def _add(file: Path, key: _Key, told: _Told) -> None:
    """Write one provider's list beside the others, which another server may have changed meanwhile."""
    entries = {**_read(file), key: told}
    data = {"format": _FORMAT, "providers": {key: _entry(each) for key, each in sorted(entries.items())}}
    partial = file.with_name(f"{file.name}.{machine.new_id()}.partial")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            json.dump(data, out, ensure_ascii=True, separators=(",", ":"))
        partial.replace(file)
    except OSError as error:
        log.info("the limits of models could not be cached (%s)", type(error).__name__)
        with contextlib.suppress(OSError):
            partial.unlink()
