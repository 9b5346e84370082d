"""Names of files and folders that are never read for a model or for a quote, whatever else allows it.

They hold secrets, or they are the machinery of git and of Palimpsest. A name is judged by how the most lenient file
system would read it, so that no other spelling of a denied name slips through: without regard to case, to the Unicode
form, to characters that show nothing, and to what Windows drops from the end of a name or takes for a stream.
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
"""Patterns of whole names, in lower case. `git~1` is what Windows calls `.git` where it keeps short names."""

ALLOWED_NAMES: Final = frozenset((".env.example", ".env.sample", ".env.template"))
"""Names that a pattern above covers although they are made to be shown."""

_DENIED: Final = re.compile("|".join(map(translate, DENIED_NAMES)))
_PRIVATE_KEY: Final = re.compile(rb"^[ \t]*-----BEGIN [A-Z ]*PRIVATE KEY-----", re.MULTILINE)


def is_denied(path: str) -> bool:
    """Whether a path, with `/` or `\\`, names something denied or lies in a folder that is."""
    return any(_is_denied_name(name) for name in path.replace("\\", "/").split("/"))


def holds_private_key(data: bytes) -> bool:
    """Whether a private key in text form begins in `data`, whatever its file is called."""
    return _PRIVATE_KEY.search(data) is not None


@lru_cache(maxsize=4096)
def _is_denied_name(name: str) -> bool:
    folded = _folded(name)
    return _DENIED.match(folded) is not None and folded not in ALLOWED_NAMES


def _folded(name: str) -> str:
    shown = "".join(character for character in name if unicodedata.category(character) != "Cf")
    return unicodedata.normalize("NFKC", shown).casefold().partition(":")[0].rstrip(" .")
