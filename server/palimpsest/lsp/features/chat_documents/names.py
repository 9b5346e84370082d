"""The names of chat documents and their commands."""

from __future__ import annotations

from typing import Final

SUFFIX: Final = ".chat.md"
"""The end of a chat document's file name."""
SEND: Final = "palimpsest.chat.send"
STOP: Final = "palimpsest.chat.stop"
OPEN: Final = "palimpsest.chat.open"
EXPAND: Final = "palimpsest.chat.expand"
FORK: Final = "palimpsest.chat.fork"
SHOW: Final = "palimpsest.chat.show"
BEGIN: Final = "Begin a conversation here"
"""The label of the choice to begin a conversation in a document that belongs to none."""
