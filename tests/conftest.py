"""What every test may rely on: a loopback, no proxies, and a fake provider."""

from __future__ import annotations

import contextlib
import gc
import os
import socket
import struct
import sys
from collections.abc import AsyncIterator, Generator

import pytest
from hypothesis import HealthCheck, settings
from tests.clients.fake_provider import FakeProvider
from tests.properties import FULL_EXAMPLES
from tests.template_store import CopyingRunner

from palimpsest.storage import upgrades

# The same examples every time, and no test fails because the machine is busy. `make test` runs the profile `default`,
# `make test-slow` and `make test-all` run `ci`; `--hypothesis-profile=nightly` looks at other examples every time.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=FULL_EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("default", settings.get_profile("ci"), max_examples=FULL_EXAMPLES // 5)
settings.register_profile(
    "nightly", settings.get_profile("ci"), max_examples=FULL_EXAMPLES * 10, derandomize=False, print_blob=True
)
settings.load_profile("default")

# Otherwise every process of tests, and every server that a test starts, would compile its modules anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected lives to the end: to look through it for garbage takes a fourth of the time of collecting it,
    and some of each test's."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
"""Linux, <linux/sockios.h> and <net/if.h>."""


def pytest_sessionstart() -> None:
    """The network may be cut off (`unshare -n`), but a new network namespace has its loopback down as well."""
    if not sys.platform.startswith("linux"):
        return
    import fcntl

    with contextlib.suppress(OSError), socket.socket() as any_socket:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))[1]
        if not flags & _IFF_UP:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _IFF_UP))


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake is on loopback: no proxy of the machine that runs the tests can reach it."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(autouse=True)
def _template_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new store is a copy. The tests of the storage have a fixture of this name that lets the migrations run."""
    monkeypatch.setattr(upgrades, "Runner", CopyingRunner)


@pytest.fixture
async def fake() -> AsyncIterator[FakeProvider]:
    async with FakeProvider() as provider:
        yield provider
