"""A fresh clone installs exactly what the locks pin, from whatever index pip and npm are configured with, and once."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

import pytest
from dev.release.contents import differences, listed
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from palimpsest.__about__ import __version__

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTENSION = ROOT / "editors" / "vscode"
LOCKS = ("run.txt", "extras.txt", "dev.txt")

# Not written out, so that this file does not hold what it looks for.
REGISTRY_HOSTS = [
    ".".join(labels)
    for labels in (
        ("pypi", "org"),
        ("files", "pythonhosted", "org"),
        ("registry", "npmjs", "org"),
        ("registry", "yarnpkg", "com"),
        ("deb", "debian", "org"),
        ("archive", "ubuntu", "com"),
    )
]


def pins(lock: str) -> dict[str, str]:
    """Version by normalized name."""
    found = re.findall(r"^([a-z0-9-]+)==(\S+) \\$", (ROOT / "requirements" / lock).read_text("utf-8"), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def asked_for(source: str) -> list[Requirement]:
    lines = (ROOT / "requirements" / source).read_text("utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]


def sources() -> Iterator[Path]:
    """Every file of the repository except what .gitignore names."""
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text("utf-8").splitlines()} | {".git"}
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in ignored]
        yield from (Path(folder, name) for name in files if not Path(name).match("*.pyc"))


# ------------------------------------------------------------------------------------------------ locks


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_nothing_but_pins_digests_and_their_reasons(lock: str) -> None:
    pin, digest = r"[a-z0-9-]+==[0-9][0-9a-z.]* \\", r"    --hash=sha256:[0-9a-f]{64}( \\)?"
    comment = r" *#( |[\w:.()-]|requirements/\w+\.(in|txt))*"
    shapes = re.compile(f"{pin}|{digest}|{comment}", re.ASCII)
    lines = (ROOT / "requirements" / lock).read_text("utf-8").splitlines()
    assert [line for line in lines if not shapes.fullmatch(line)] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_the_digests_of_a_wheel_and_of_the_source(lock: str) -> None:
    releases = re.split(r"^(?=[a-z0-9-]+==)", (ROOT / "requirements" / lock).read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert releases
    assert [release.split(" ")[0] for release in releases if release.count("--hash=") < 2] == []


def test_the_runtime_lock_satisfies_what_the_project_and_its_build_ask_for() -> None:
    asked = [Requirement(line) for line in PROJECT["project"]["dependencies"] + PROJECT["build-system"]["requires"]]
    locked = pins("run.txt")
    missing = [
        str(wanted)
        for wanted in asked + asked_for("run.in")
        if not wanted.specifier.contains(locked.get(canonicalize_name(wanted.name), "0"), prereleases=True)
        or canonicalize_name(wanted.name) not in locked
    ]
    assert missing == [], "run `make lock`"


def test_the_development_lock_adds_to_the_runtime_lock_and_changes_no_pin() -> None:
    development = pins("dev.txt")
    assert pins("run.txt").items() <= development.items()
    assert {canonicalize_name(tool.name) for tool in asked_for("dev.in")} <= development.keys()


def test_the_lock_of_the_extras_adds_to_the_runtime_lock_and_changes_no_pin() -> None:
    locked = pins("extras.txt")
    assert pins("run.txt").items() <= locked.items()
    extras = PROJECT["project"]["optional-dependencies"]
    for wanted in map(Requirement, [*extras["hub"], *extras["mcp"], *extras["web"]]):
        assert wanted.specifier.contains(locked[canonicalize_name(wanted.name)]), "run `make lock`"
    assert "psycopg-binary" in locked


def test_the_extension_pins_exact_versions_and_its_lock_holds_no_address() -> None:
    declared = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    text = (EXTENSION / "package-lock.json").read_text("utf-8")
    locked = json.loads(text)["packages"]
    assert locked.pop("")["devDependencies"] == declared["devDependencies"]
    assert {f"node_modules/{name}": version for name, version in declared["devDependencies"].items()}.items() <= {
        path: entry["version"] for path, entry in locked.items()
    }.items()
    assert [path for path, entry in locked.items() if not entry["integrity"].startswith("sha512-")] == []
    assert "://" not in text
    assert '"resolved"' not in text


def test_no_file_names_a_package_registry() -> None:
    named = [
        f"{path.relative_to(ROOT)}: {host}"
        for path in sources()
        for host in REGISTRY_HOSTS
        if host.encode() in path.read_bytes()
    ]
    assert named == []


# ------------------------------------------------------------------------------------------------ wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-P", "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=60)
    [built] = folder.glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_holds_the_three_packages_typed_and_licensed(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    tops = {name.split("/")[0] for name in names}
    information = f"palimpsest_ls-{__version__}.dist-info"
    packages = {"palimpsest", "palimpsest_clients", "palimpsest_hub"}
    assert tops == {*packages, information, f"palimpsest_ls-{__version__}.data"}
    typed = {f"{package}/py.typed" for package in packages}
    assert {*typed, f"{information}/licenses/LICENSE"} <= set(names)


def test_the_wheel_holds_every_file_of_the_three_packages(wheel: zipfile.ZipFile) -> None:
    packages = [
        ROOT / "server" / "palimpsest",
        ROOT / "clients" / "palimpsest_clients",
        ROOT / "hub" / "palimpsest_hub",
    ]
    wanted = {
        path.relative_to(package.parent).as_posix()
        for package in packages
        for path in sources()
        if path.is_relative_to(package)
    }
    assert wanted - set(wheel.namelist()) == set()


def test_the_version_comes_from_one_place(wheel: zipfile.ZipFile) -> None:
    metadata = HeaderParser().parsestr(wheel.read(f"palimpsest_ls-{__version__}.dist-info/METADATA").decode())
    assert metadata["Version"] == __version__
    assert "version" not in PROJECT["project"]
    for file in ("package.json", "package-lock.json"):  # `make generate` writes it into them
        assert json.loads((EXTENSION / file).read_text("utf-8"))["version"] == __version__


def test_the_wheel_holds_nothing_that_is_not_listed_and_lacks_nothing_that_is(wheel: zipfile.ZipFile) -> None:
    assert differences(wheel.namelist(), listed("wheel")) == [], "see dev/release/contents.toml"


def test_the_wheel_brings_the_manual_and_what_completes_commands_in_each_shell(wheel: zipfile.ZipFile) -> None:
    shared = f"palimpsest_ls-{__version__}.data/data/share/"
    assert {name.removeprefix(shared) for name in wheel.namelist() if name.startswith(shared)} == {
        "man/man1/palimpsest.1",
        "bash-completion/completions/palimpsest",
        "zsh/site-functions/_palimpsest",
        "fish/vendor_completions.d/palimpsest.fish",
    }


# ------------------------------------------------------------------------------------------------ set-up

# Stands for the machine's Python: makes "environments", keeps a log of what pip was asked, fails when told to.
# Its pip is a nuisance: it prints to standard output and reads standard input to its end.
PYTHON_OF_THE_MACHINE = """#!/bin/sh
case "$*" in
    "-m venv --clear .venv") rm -rf .venv; mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
    *"-m pip "*) echo "$*${PYTHONPATH:+ misled}" >>pip.log; echo noise; cat; [ ! -e no-network ] ;;
    *" chat "*) pwd; echo "$*" | sed 's/.* chat //'; cat ;;
esac
"""

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


class Clone:
    """A fresh clone with everything it needs to set itself up, in a folder with a blank in its name."""

    def __init__(self, parent: Path) -> None:
        self.path = parent / "a clone"
        self._bin = parent / "bin"
        for file in ("Makefile", "pyproject.toml", "server/palimpsest/__about__.py"):
            (self.path / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, self.path / file)
        shutil.copytree(ROOT / "requirements", self.path / "requirements")
        self._bin.mkdir()
        (self._bin / "python3.11").write_text(PYTHON_OF_THE_MACHINE)
        (self._bin / "python3.11").chmod(0o755)

    def make(self, *arguments: str, typed_in: Path | None = None) -> subprocess.CompletedProcess[str]:
        folder = typed_in or self.path
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PYTHON"))
        }
        search = f"{self._bin}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["make", "--silent", *arguments],
            cwd=folder,
            env=inherited | {"PATH": search, "PWD": str(folder), "PYTHONPATH": str(folder)},
            input="hello\n",
            capture_output=True,
            text=True,
            timeout=30,
        )

    def pip_calls(self) -> list[str]:
        log = self.path / "pip.log"
        return log.read_text("utf-8").splitlines() if log.exists() else []


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


@needs_make
def test_run_hands_on_standard_input_and_prints_only_what_the_program_prints(clone: Clone) -> None:
    first, second = clone.make("run"), clone.make("run")
    assert first.stdout == second.stdout == f"{clone.path}\n.\nhello\n"
    assert first.stderr == "Setting up .venv (run) ...\nnoise\nnoise\n"
    assert second.stderr == ""


@needs_make
def test_run_installs_hashed_pins_alone_and_is_not_misled_by_the_callers_environment(clone: Clone) -> None:
    clone.make("run")
    lock, project = clone.pip_calls()
    assert lock.endswith("install --require-hashes --no-deps -r requirements/run.txt")
    assert project.endswith("install --no-deps --no-build-isolation --no-index --editable .")


@needs_make
def test_a_set_up_environment_is_left_alone(clone: Clone) -> None:
    clone.make("test")
    calls = clone.pip_calls()
    clone.make("test")
    clone.make("run")
    assert clone.pip_calls() == calls


@needs_make
def test_a_set_up_that_failed_is_made_anew(clone: Clone) -> None:
    (clone.path / "no-network").touch()
    assert clone.make("run").returncode != 0
    (clone.path / "no-network").unlink()
    assert clone.make("run").stdout.endswith("hello\n")
    assert len(clone.pip_calls()) == 3


@needs_make
def test_run_still_starts_when_the_development_tools_could_not_be_added(clone: Clone) -> None:
    clone.make("run")
    (clone.path / "no-network").touch()
    assert clone.make("test").returncode != 0
    assert clone.make("run").stdout.endswith("hello\n")


@needs_make
def test_a_moved_clone_sets_up_again(clone: Clone) -> None:
    clone.make("run")
    clone.path = clone.path.rename(clone.path.with_name("moved"))
    assert clone.make("run").stderr.startswith("Setting up .venv (run) ...\n")


@needs_make
def test_a_distribution_that_pip_did_not_finish_is_installed_again(clone: Clone) -> None:
    clone.make("run")
    packages = clone.path / ".venv" / "lib" / "python3.11" / "site-packages"
    for name, files in {"whole": ("METADATA", "INSTALLER"), "half": ("METADATA",)}.items():
        information = packages / f"{name}-1.0.dist-info"
        information.mkdir(parents=True)
        for file in files:
            (information / file).touch()
    clone.make("test")
    assert [path.name for path in packages.iterdir()] == ["whole-1.0.dist-info"]


@needs_make
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="make's command line cannot be read here")
def test_run_is_about_the_folder_that_make_was_typed_in(clone: Clone, tmp_path: Path) -> None:
    elsewhere = tmp_path / "it's elsewhere"
    elsewhere.mkdir()
    assert clone.make("-C", str(clone.path), "run", typed_in=elsewhere).stdout == f"{elsewhere}\n.\nhello\n"
    named = clone.make("-C", str(clone.path), "run", "FOLDER=it's here", typed_in=elsewhere)
    assert named.stdout == f"{elsewhere}\nit's here\nhello\n"
