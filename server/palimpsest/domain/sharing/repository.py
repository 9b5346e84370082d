"""The identity of a repository, the same on every machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote, urlsplit

from palimpsest.domain.models.redaction import redact

_LONGEST: Final = 1_000
"""Characters of a remote."""
_DEFAULT_PORTS: Final = {"https": 443, "http": 80, "ssh": 22, "git+ssh": 22, "ssh+git": 22, "git": 9418, "ftps": 990}
_SCP: Final = re.compile(r"(?:[^/]*@)?(?P<host>\[[^\]/]+\]|[^@:/\[\]]+):(?!:)(?P<path>.+)")
"""`user@host:path`: a colon before the first slash. A user may have a password in front of the last `@`."""
_HOST: Final = re.compile(r"[\w.-]+|\[[0-9a-f:.]+\]")
_OWN_MACHINE: Final = re.compile(r"localhost|127(\.\d+){3}|\[::1\]|.*\.localhost")


@dataclass(frozen=True, slots=True)
class RepositoryIdentity:
    """Two folders with both parts equal are of the same repository. With one part equal, a person has to confirm it."""

    root_commit: str
    """The least of the commits without parents; empty where it is not known, as in a shallow clone."""
    remote: str
    """`host/path`, as `normalized_remote` writes it; empty for none."""
    subfolder: str = ""
    """The open folder below the repository's top, with `/`; empty for the top itself."""

    @property
    def is_empty(self) -> bool:
        return not self.root_commit and not self.remote

    def is_same(self, root_commit: str, remote: str) -> bool:
        return bool(root_commit and remote) and (self.root_commit, self.remote) == (root_commit, remote)

    def is_alike(self, root_commit: str, remote: str) -> bool:
        """Whether one part is equal, or both."""
        return bool(root_commit and self.root_commit == root_commit) or bool(remote and self.remote == remote)

    def still_is(self, confirmed: RepositoryIdentity) -> bool:
        """Whether the folder is still of the repository `confirmed`: no part that both know differs, and both know at
        least one."""
        pairs = ((self.root_commit, confirmed.root_commit), (self.remote, confirmed.remote))
        known = [one == other for one, other in pairs if one and other]
        return self.subfolder == confirmed.subfolder and bool(known) and all(known)

    def to_top(self, path: str) -> str:
        """A path below the folder as a path below the repository's top."""
        return f"{self.subfolder}/{path}" if self.subfolder else path

    def below(self, path: str) -> str | None:
        """A path below the repository's top as a path below the folder; None for a file outside of it."""
        if not self.subfolder:
            return path
        return path.removeprefix(f"{self.subfolder}/") if path.startswith(f"{self.subfolder}/") else None


def normalized_remote(url: str) -> str:
    """`host/path` for each way to name a place on another machine, without scheme, user, password and `.git`. Empty for
    a place on this machine, and for what is no address."""
    url = url.strip()
    found = _of_url(url) if "://" in url else _of_scp(url)
    if found is None:
        return ""
    host, path = found[0].rstrip(".").lower(), found[1]
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if parts:
        parts[-1] = parts[-1].removesuffix(".git")
    name = "/".join(part for part in parts if part)
    told = f"{host}/{name}"
    is_sound = name and ".." not in parts and told.isprintable() and len(told) <= _LONGEST
    # An `@` in a path is what is left of a password that was not written as it should be.
    is_sound = is_sound and "@" not in told and "\\" not in told and all(redact(part) == part for part in parts)
    return told if is_sound else ""


def _of_url(url: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme == "file" or not host:
        return None
    host = f"[{host}]" if ":" in host else host
    if not _is_elsewhere(host):
        return None
    shown = "" if port is None or port == _DEFAULT_PORTS.get(parts.scheme) else f":{port}"
    return host.rstrip(".") + shown, unquote(parts.path)


def _of_scp(url: str) -> tuple[str, str] | None:
    match = _SCP.fullmatch(url)
    if match is None:
        return None
    host = match["host"]
    if host.startswith("[") and ":" not in host:  # git takes brackets around any host
        host = host[1:-1]
    if len(host) == 1 or not _is_elsewhere(host):  # `C:\code` is a place on Windows
        return None
    return host, match["path"]


def _is_elsewhere(host: str) -> bool:
    plain = host.lower().rstrip(".")
    return _HOST.fullmatch(plain) is not None and _OWN_MACHINE.fullmatch(plain) is None
