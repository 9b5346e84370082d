"""Whether the user trusts those who wrote what lies in a workspace folder.

In a folder that is not trusted nothing of it counts but its text: no settings, no instructions, no tool that changes
something or starts a program. Who says so is decided above (`app.trusted_folders`, the editor); who acts on it asks
here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class FolderTrust:
    """Of one open folder, one object for as long as it is open: whoever holds it hears of a change at once, even in
    the middle of a turn."""

    is_trusted: bool = False
