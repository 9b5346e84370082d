"""How a server of the Model Context Protocol is configured: by the user, or by a file of the workspace folder.

A server is a program that is started, or an address. Its texts may name variables of the environment, `${NAME}`; they
are filled in right before the server is started, so no key is part of a configuration, of an approval or of an answer.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final
from urllib.parse import urlsplit

from palimpsest import values
from palimpsest.domain.approvals import START_SERVER, ApprovalRequest, show_command, visible
from palimpsest.domain.errors import InvalidRequest

TIMEOUT_S: Final = 60
START_TIMEOUT_S: Final = 30
MAX_TIMEOUT_S: Final = 3600
MAX_SERVERS: Final = 32
"""The most servers of one folder."""
_MAX_WORDS: Final = 256
_MAX_CHARACTERS: Final = 32 * 1024

_NAME: Final = re.compile(r"[A-Za-z](?:[A-Za-z0-9-]|_(?!_)){0,29}")
_TAKEN: Final = "editor_"
"""The prefix of the tools that editors bring."""
_VARIABLE: Final = re.compile(r"\$\{([^{}]*)\}")
_ENVIRONMENT: Final = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", re.DOTALL)
_FOLDER: Final = "workspaceFolder"
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")
_SECRET: Final = re.compile(r".*(key|token|secret|password|passwd|credential|authorization|cookie).*", re.IGNORECASE)


class Origin(StrEnum):
    """Where a server is configured."""

    USER = "config.toml"
    """The user's own settings. Such a server needs no approval."""
    PROJECT = ".mcp.json"
    VSCODE = ".vscode/mcp.json"


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One configured server. It has either a command or a URL."""

    name: str
    """Letters, digits, `-` and single `_`, a letter first, at most 30 characters."""
    origin: Origin = Origin.USER
    command: tuple[str, ...] = ()
    """The program and its arguments."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables for the program, beside those that every program needs to find its files and its user."""
    cwd: str | None = None
    """The folder to run in. None: the workspace folder."""
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    is_trusted: bool = False
    """Whether tools of which the server says that they only read may run without asking the user."""
    tools: tuple[str, ...] | None = None
    """The only tools of the server that are offered, by the server's names. None: all of them."""
    timeout_s: int = TIMEOUT_S
    """The time for one call of a tool."""
    start_timeout_s: int = START_TIMEOUT_S
    is_enabled: bool = True

    @property
    def needs_approval(self) -> bool:
        return self.origin is not Origin.USER

    @property
    def identity(self) -> str:
        """What is started or called, exactly: two servers with one identity do the same."""
        what = [self.name, self.command, self.env, self.cwd, self.url, self.headers]
        return json.dumps(what, ensure_ascii=False, sort_keys=True)

    @property
    def fingerprint(self) -> str:
        """A digest of `identity`, 16 hexadecimal digits."""
        return hashlib.sha256(self.identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    @property
    def shown(self) -> str:
        """What is started or called, complete, for a person. Variables are named and not filled in."""
        lines = [show_command(self.command) if self.command else visible(self.url or "")]
        if self.cwd is not None:
            lines.append(f"in the folder {visible(self.cwd)}")
        lines += [f"with the variable {visible(name)}={visible(text)}" for name, text in sorted(self.env.items())]
        lines += [f"with the header {visible(name)}: {visible(text)}" for name, text in sorted(self.headers.items())]
        return "\n".join(lines)


def start_request(config: ServerConfig) -> ApprovalRequest:
    """The question whether a server of a folder's file may be used. A rule covers exactly this command or address."""
    title = f"Use the MCP server {config.name}, which {config.origin.value} of this folder asks for?"
    return ApprovalRequest(START_SERVER, (config.name, config.identity), title, config.shown)


# ----------------------------------------------------------------------------------------------------------- variables


def fill_in(text: str, environ: Mapping[str, str], folder: str) -> str:
    """The text with its variables filled in: `${NAME}`, `${env:NAME}`, `${NAME:-what stands in when it is not set}` and
    `${workspaceFolder}`. Raises InvalidRequest, with the name of a variable that is missing and with no value."""

    def value(match: re.Match[str]) -> str:
        if match[1] == _FOLDER:
            return folder
        named = _ENVIRONMENT.fullmatch(match[1])
        if named is None:
            raise InvalidRequest(
                f"{match[0][:60]} cannot be filled in here. Use ${{NAME}} for a variable of the environment."
            )
        found = environ.get(named[1]) or named[2]
        if found is None:
            raise InvalidRequest(
                f"The variable {named[1]} is not set in the environment of Palimpsest. Set it, then restart the editor."
            )
        return found

    return _VARIABLE.sub(value, text)


def filled_in(config: ServerConfig, environ: Mapping[str, str], folder: str) -> ServerConfig:
    """The configuration as it is carried out. Raises InvalidRequest. Keep it out of answers and logs: it may hold keys.

    The program itself names no variable: what an approval shows is what is started.
    """

    def fill(text: str) -> str:
        return fill_in(text, environ, folder)

    filled = replace(
        config,
        command=(*config.command[:1], *map(fill, config.command[1:])),
        env={name: fill(text) for name, text in config.env.items()},
        cwd=None if config.cwd is None else fill(config.cwd),
        url=None if config.url is None else fill(config.url),
        headers={name: fill(text) for name, text in config.headers.items()},
    )
    _check(filled)
    return filled


# ------------------------------------------------------------------------------------------------------------- reading


@dataclass(frozen=True, slots=True)
class _UserTable:
    """`[mcp.NAME]` in the user's settings."""

    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] | None = None
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] | None = None
    trusted: bool = False
    tools: tuple[str, ...] | None = None
    timeout_s: int = TIMEOUT_S
    start_timeout_s: int = START_TIMEOUT_S
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class _FileEntry:
    """A server of `.mcp.json` or `.vscode/mcp.json`. What else others write there is ignored."""

    type: str | None = None
    command: str | None = None
    args: tuple[str, ...] = ()
    env: dict[str, str] | None = None
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] | None = None
    disabled: bool = False


_LEAVES: Final = {
    str: values.checked(values.STRING, lambda text: "\0" not in text, "a text"),
    int: values.INTEGER,
    bool: values.BOOLEAN,
}
_USER_TABLE: Final = values.Types(_LEAVES).of(_UserTable)
_FILE_ENTRY: Final = values.Types(_LEAVES, is_open=True).of(_FileEntry)
_HTTP_TYPES: Final = ("http", "streamable-http", "streamableHttp")


def read_user_table(name: str, table: object) -> ServerConfig:
    """The server of `[mcp.NAME]`. Raises InvalidRequest, with one sentence for each problem."""
    if not is_name(name):
        raise InvalidRequest(
            f"mcp.{name[:40]} is no name for a server: it has up to 30 letters, digits, `-` and single `_`, begins "
            f"with a letter, and does not begin with {_TAKEN}."
        )
    written: _UserTable = _read(_USER_TABLE, table, f"mcp.{name}")
    config = ServerConfig(
        name,
        Origin.USER,
        () if written.command is None else (written.command, *written.args),
        written.env or {},
        written.cwd,
        written.url,
        written.headers or {},
        written.trusted,
        written.tools,
        written.timeout_s,
        written.start_timeout_s,
        written.enabled,
    )
    _check(config)
    for what, pairs in (("env", config.env), ("headers", config.headers)):
        for key, text in pairs.items():
            if _SECRET.fullmatch(key) and not _VARIABLE.search(text):
                raise InvalidRequest(
                    f"mcp.{name}.{what}.{key} looks like a key, and keys are not read from settings. Put the key into "
                    'the environment, and name the variable here, as in "${GITHUB_TOKEN}".'
                )
    return config


def read_file_entry(written_name: str, entry: object, origin: Origin) -> ServerConfig:
    """A server that a file of the folder asks for. A name that is none for us is made one. Raises InvalidRequest."""
    name = to_name(written_name)
    written: _FileEntry = _read(_FILE_ENTRY, entry, f"the server {visible(written_name)[:60]}")
    if written.type is not None and written.type not in ("stdio", *_HTTP_TYPES):
        raise InvalidRequest(
            f"The server {name} has the type {written.type[:20]!r}, which is not supported. Use `stdio` or `http`."
        )
    config = ServerConfig(
        name,
        origin,
        () if written.command is None else (written.command, *written.args),
        written.env or {},
        written.cwd,
        written.url,
        written.headers or {},
        is_enabled=not written.disabled,
    )
    _check(config)
    return config


def is_name(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and not name.endswith("_") and not name.casefold().startswith(_TAKEN)


def to_name(written: str) -> str:
    """The name for us of a server that others named. Different names may become one."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", written).strip("-")
    name = name if name[:1].isalpha() else f"server-{name}".rstrip("-")
    return name[:30].rstrip("-")


def _read(reader: values.Reader, value: object, named: str) -> Any:
    try:
        return reader.read(value)
    except values.Mismatch as error:
        raise InvalidRequest("\n".join(error.sentences(named))) from None


def _check(config: ServerConfig) -> None:
    """Raises InvalidRequest for a configuration that cannot be carried out."""
    name = config.name
    if bool(config.command) == (config.url is not None):
        raise InvalidRequest(f"The server {name} needs either a `command` or a `url`.")
    if config.command and (not config.command[0] or "${" in config.command[0]):
        raise InvalidRequest(f"The command of the server {name} must be the name or the path of a program.")
    if len(config.command) > _MAX_WORDS or len(config.identity) > _MAX_CHARACTERS:
        raise InvalidRequest(f"The configuration of the server {name} is too long.")
    if any(not key or "=" in key for key in config.env):
        raise InvalidRequest(f"The server {name} has a variable in `env` without a name, or with `=` in its name.")
    if config.url is not None and not _is_address(config.url):
        raise InvalidRequest(
            f"The url of the server {name} must begin with http:// or https:// and a host, and have no user or "
            "password. A key belongs into `headers`."
        )
    for header, text in config.headers.items():
        if not _HEADER.fullmatch(header) or not text.isprintable():
            raise InvalidRequest(f"The server {name} has a header that cannot be sent: {visible(header)[:60]}.")
    for seconds in (config.timeout_s, config.start_timeout_s):
        if not 1 <= seconds <= MAX_TIMEOUT_S:
            raise InvalidRequest(f"The timeouts of the server {name} must be from 1 to {MAX_TIMEOUT_S} seconds.")


def _is_address(text: str) -> bool:
    text = _VARIABLE.sub("x", text)
    try:
        url = urlsplit(text)
        return url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0 and "@" not in url.netloc
    except ValueError:
        return False
