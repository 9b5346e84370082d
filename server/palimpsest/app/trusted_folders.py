"""The user's list of trusted folders, which counts when the editor says nothing. `palimpsest trust` changes it.

It has one small file per folder in the data directory, so that two processes that change it lose nothing. Its place
depends on no setting, because settings may come with the code to be trusted. An unreadable entry is not trusted.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from palimpsest.domain.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class TrustedFolders:
    """The trusted folders, by resolved path. Trust in a folder does not extend to the folders in it."""

    directory: Path
    """May be missing."""

    def __contains__(self, root: Path) -> bool:
        try:
            return self._entry(root).read_bytes() == os.fsencode(root)
        except OSError:
            return False

    def add(self, root: Path) -> None:
        """Trust a folder. Raises InvalidRequest when the list cannot be written."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            # A complete file of mode 0600, or none.
            descriptor, name = tempfile.mkstemp(dir=self.directory, prefix=".")
            with os.fdopen(descriptor, "wb") as file:
                file.write(os.fsencode(root))
            Path(name).replace(self._entry(root))
        except OSError as error:
            raise InvalidRequest(f"The trust in {root} could not be stored: {error.strerror}.") from error

    def remove(self, root: Path) -> bool:
        """Stop trusting a folder. Returns whether it was trusted. Raises InvalidRequest when it still is."""
        was_trusted = root in self
        try:
            self._entry(root).unlink(missing_ok=True)
        except OSError as error:
            raise InvalidRequest(f"{root} is still trusted: {error.strerror}. Remove {self._entry(root)}.") from error
        return was_trusted

    def roots(self) -> list[Path]:
        """The trusted folders, by name."""
        try:
            entries = [path for path in self.directory.iterdir() if not path.name.startswith(".")]
            roots = [Path(os.fsdecode(entry.read_bytes())) for entry in entries]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InvalidRequest(f"The trusted folders cannot be read: {error.strerror}.") from error
        return sorted(root for root in roots if root in self)

    def _entry(self, root: Path) -> Path:
        return self.directory / hashlib.sha256(os.fsencode(root)).hexdigest()


def trusted_folders() -> TrustedFolders:
    """The list of the user who runs this process."""
    return TrustedFolders(Path(platformdirs.user_data_dir("palimpsest", appauthor=False)) / "trusted")
