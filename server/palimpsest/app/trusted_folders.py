"""The folders a user trusts, where no editor says: kept in the data directory, changed by `palimpsest trust`.

One small file a folder, so that two terminals that trust and revoke at the same time lose nothing. The place depends on
no setting: settings may come with the code whose trust is the question. What cannot be read is not trusted.
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
    """Folders are resolved paths. One that is trusted stands for itself, not for the folders in it."""

    directory: Path
    """May be missing."""

    def __contains__(self, root: Path) -> bool:
        try:
            return self._entry(root).read_bytes() == os.fsencode(root)
        except OSError:
            return False

    def add(self, root: Path) -> None:
        """Raises InvalidRequest when it cannot be written down."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            # A file of mode 0600, whole or not there at all.
            descriptor, name = tempfile.mkstemp(dir=self.directory, prefix=".")
            with os.fdopen(descriptor, "wb") as file:
                file.write(os.fsencode(root))
            Path(name).replace(self._entry(root))
        except OSError as error:
            raise InvalidRequest(f"That {root} is trusted could not be written down: {error.strerror}.") from error

    def remove(self, root: Path) -> bool:
        """Whether it was trusted. Raises InvalidRequest when it still is."""
        was_trusted = root in self
        try:
            self._entry(root).unlink(missing_ok=True)
        except OSError as error:
            raise InvalidRequest(f"{root} is still trusted: {error.strerror}. Remove {self._entry(root)}.") from error
        return was_trusted

    def roots(self) -> list[Path]:
        """All of them, by name."""
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
    """Those of the user who runs this process."""
    return TrustedFolders(Path(platformdirs.user_data_dir("palimpsest", appauthor=False)) / "trusted")
