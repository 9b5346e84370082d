"""Whatever goes wrong has its kind, and is tried again only where that can help and nothing was shown yet."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from tests.clients import fault_table
from tests.clients.fault_table import FAULTS, NO_TLS, PROXY, UNTRUSTED, cell

from palimpsest.domain.errors import ErrorKind
from palimpsest_clients.fake.dialect import Dialect
from palimpsest_clients.fake.server import DIALECTS


@dataclass(frozen=True)
class Row:
    kind: ErrorKind
    is_retried: bool
    but: Mapping[str, tuple[ErrorKind, bool]] = field(default_factory=dict)
    """By format, where the cell is another one."""

    def of(self, dialect: Dialect) -> tuple[ErrorKind, bool]:
        return self.but.get(dialect.name, (self.kind, self.is_retried))


# Ollama's error in a stream is words and nothing else: what cannot be told apart is not tried again.
WORDS_ONLY = {"ollama": (ErrorKind.BAD_RESPONSE, False)}

TABLE = {
    "401": Row(ErrorKind.AUTH, False),
    "402": Row(ErrorKind.QUOTA, False),
    "403": Row(ErrorKind.AUTH, False),
    "404": Row(ErrorKind.BAD_RESPONSE, False),
    "408": Row(ErrorKind.NETWORK, True),
    "413": Row(ErrorKind.CONTEXT_TOO_LONG, False),
    "429": Row(ErrorKind.RATE_LIMITED, True),
    "429, retry-after 0": Row(ErrorKind.RATE_LIMITED, True),
    "429, retry-after 3600": Row(ErrorKind.RATE_LIMITED, False),
    "500": Row(ErrorKind.OVERLOADED, True),
    "503": Row(ErrorKind.OVERLOADED, True),
    "529": Row(ErrorKind.OVERLOADED, True),
    "overflow": Row(ErrorKind.CONTEXT_TOO_LONG, False),
    "error after 200": Row(ErrorKind.OVERLOADED, True, WORDS_ONLY),
    "error behind a delta": Row(ErrorKind.OVERLOADED, False, WORDS_ONLY),
    "stop mid-event": Row(ErrorKind.NETWORK, True),
    "stop mid-event behind a delta": Row(ErrorKind.NETWORK, False),
    "end without the end": Row(ErrorKind.NETWORK, False),
    "silence": Row(ErrorKind.NETWORK, True),
    "silence behind a delta": Row(ErrorKind.NETWORK, False),
    "garbage": Row(ErrorKind.BAD_RESPONSE, False),
    "wrong content type": Row(ErrorKind.BAD_RESPONSE, False),
    NO_TLS: Row(ErrorKind.NETWORK, True),
    UNTRUSTED: Row(ErrorKind.NETWORK, False),
    PROXY: Row(ErrorKind.NETWORK, False),
}


def test_every_fault_has_its_row() -> None:
    assert set(TABLE) == set(FAULTS)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("fault", FAULTS)
async def test_each_fault_has_its_kind_and_is_tried_again_where_that_helps(fault: str, dialect: Dialect) -> None:
    if fault == UNTRUSTED and shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    found = await cell(fault, dialect)
    assert (found.kind, found.is_retried) == TABLE[fault].of(dialect)
    assert found.message.endswith((".", ")"))
    assert "scripted failure" not in found.message
    assert "teapot" not in found.message
    assert fault_table.KEY not in found.message
