"""Whether the user trusts the authors of a workspace folder.

In a folder that is not trusted, settings and instruction files do not count, and no tool changes something or starts a
program. The editor or the user's list (`app.trusted_folders`) decides; the services ask here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class FolderTrust:
    """The trust in one folder, one object for as long as the folder is open: a change counts at once, even in the
    middle of a turn."""

    is_trusted: bool = False
