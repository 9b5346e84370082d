"""The version of the protocol. It is announced in the answer to `initialize`, before any message is declared."""

from __future__ import annotations

from typing import Final

PROTOCOL_VERSION: Final = 1
