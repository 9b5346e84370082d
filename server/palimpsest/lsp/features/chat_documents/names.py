"""What chat documents and their commands are called."""

from __future__ import annotations

from typing import Final

SUFFIX: Final = ".chat.md"
"""How the name of a chat document's file ends."""
SEND: Final = "palimpsest.chat.send"
STOP: Final = "palimpsest.chat.stop"
OPEN: Final = "palimpsest.chat.open"
EXPAND: Final = "palimpsest.chat.expand"
SHOW: Final = "palimpsest.chat.show"
BEGIN: Final = "Begin a conversation"
"""What a user says who wants one in a document that belongs to none."""
