"""Names of files and folders that are never read for a model or for a quote, even if other rules allow it.

They hold secrets, or they belong to git or to Palimpsest. A name is compared as the most lenient file system would read
it, so that no other spelling of a denied name gets through: ignoring case, the Unicode form, invisible characters, and
the endings that Windows drops from a name or reads as a stream.
"""

from __future__ import annotations

import re
import unicodedata
from fnmatch import translate
from functools import lru_cache
from typing import Final

DENIED_NAMES: Final = (
    ".aws",
    ".azure",
    ".docker",
    ".env*",
    ".git",
    ".git-credentials",
    ".gnupg",
    ".htpasswd",
    ".kube",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".palimpsest",
    ".pgpass",
    ".pypirc",
    ".ssh",
    "*.jks",
    "*.kdbx",
    "*.key",
    "*.keystore",
    "*.p12",
    "*.pem",
    "*.pfx",
    "*.ppk",
    "_netrc",
    "client_secret*.json",
    "credentials",
    "credentials*.json",
    "credentials*.toml",
    "credentials*.y*ml",
    "git~[0-9]",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "id_rsa*",
    "secrets*.json",
    "secrets*.toml",
    "secrets*.y*ml",
    "service*account*.json",
)
"""Patterns of whole names, in lower case. Windows calls `.git` `git~1` where it keeps short names."""

ALLOWED_NAMES: Final = frozenset((".env.example", ".env.sample", ".env.template"))
"""Names that match a pattern above but are made to be shared."""

_DENIED: Final = re.compile("|".join(map(translate, DENIED_NAMES)))
_PRIVATE_KEY: Final = re.compile(rb"^[ \t]*-----BEGIN [A-Z ]*PRIVATE KEY-----", re.MULTILINE)


def is_denied(path: str) -> bool:
    """Whether a path, with `/` or `\\`, names something denied or is inside a denied folder."""
    return any(_is_denied_name(name) for name in path.replace("\\", "/").split("/"))


def holds_private_key(data: bytes) -> bool:
    """Whether a private key in text form begins in `data`, whatever the file's name."""
    return _PRIVATE_KEY.search(data) is not None


@lru_cache(maxsize=4096)
def _is_denied_name(name: str) -> bool:
    folded = _folded(name)
    return _DENIED.match(folded) is not None and folded not in ALLOWED_NAMES


def _folded(name: str) -> str:
    shown = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", shown).casefold().partition(":")[0].rstrip(" .")
