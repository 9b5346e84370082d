"""The part of a chat document that the editor may still hold although it should be gone."""

from __future__ import annotations

from dataclasses import dataclass

from palimpsest.services.conversation.conversations import NewestHidden


@dataclass(frozen=True, slots=True)
class Remains:
    """Text that a document may still hold although it was sent, hidden or purged, because its editor never reported
    that it was removed. Kept while the document is closed."""

    sent: str = ""
    """The message that was sent from the input and is still there."""
    shown_at: NewestHidden | None = None
    """The newest hidden range when the view that the editor last reported was rendered; None before the first
    reading."""
    has_quoted: bool = False
    """Whether the document may show answers of commands, forgotten ones included."""

    def may_hold(self, gone: NewestHidden) -> bool:
        """Whether the document may show text that is hidden or purged by now."""
        shown = self.shown_at
        if shown is None:
            return False
        return gone.here != shown.here or (self.has_quoted and gone.anywhere != shown.anywhere)
