"""The files and folders of the server on this machine."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import platformdirs

from palimpsest.app.settings_files import USER_FILE
from palimpsest.domain.settings.settings import Settings

APP: Final = "palimpsest"


@dataclass(frozen=True, slots=True)
class Places:
    """The folders of the server on this machine."""

    stores: Path
    cache: Path


def user_file() -> Path:
    """The user's own settings file, which may be missing."""
    return Path(platformdirs.user_config_dir(APP, appauthor=False)) / USER_FILE


def commands_folder(user_file: Path) -> Path:
    """The folder of the user's own commands, beside the settings file. It may be missing."""
    return user_file.parent / "commands"


def read_places(settings: Settings) -> Places:
    data = settings.storage_path or platformdirs.user_data_dir(APP, appauthor=False)
    cache = Path(platformdirs.user_cache_dir(APP, appauthor=False))
    return Places(Path(os.path.expanduser(data)) / "folders", cache)


def store_directory(stores: Path, root: Path) -> Path:
    """The store of a resolved folder. Its name is readable and has a hash of the folder's URI, which makes it
    unique."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name).strip("-.")[:40] or "folder"
    return stores / f"{slug}-{hashlib.sha256(root.as_uri().encode()).hexdigest()[:16]}"
