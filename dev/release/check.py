"""Build every part of a release, compare what is inside with a list, install each into an empty place, and use it once:
`python -m dev.release.check`.

The parts are left in build/release once all of it has passed: the wheel, the source archive, the extension for VS Code,
the plugin for Neovim as a folder and as an archive. Until then they are in build/release-check. A line says what was
done; the first thing that is wrong ends it with exit code 1.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path
from typing import Final

from dev import ROOT
from dev.release.contents import differences, listed
from dev.release.places import MINORS, CheckFailed, Place, empty_place, pythons
from dev.release.trying import ANSWER, QUESTION, make_folder, try_program
from palimpsest.__about__ import __version__

RELEASE: Final = ROOT / "build" / "release"
_WORK: Final = ROOT / "build" / "release-check"
PARTS: Final = _WORK / "parts"
WHEEL: Final = PARTS / f"palimpsest_ls-{__version__}-py3-none-any.whl"
SDIST: Final = PARTS / f"palimpsest_ls-{__version__}.tar.gz"
VSIX: Final = PARTS / f"palimpsest-{__version__}.vsix"
PLUGIN: Final = PARTS / "palimpsest.nvim"
_SOURCES: Final = ("server", "clients", "hub")
_EXTRAS: Final = {
    "acp": "acp",
    "hub": "psycopg",
    "keyring": "keyring",
    "mcp": "mcp",
    "web": "trafilatura",
}
"""The module that each extra brings."""
_INTERRUPTED: Final = 130
_EXTENSION: Final = "editors/vscode"
_NEOVIM: Final = "editors/nvim"


def build() -> None:
    """Every part, into an empty `PARTS`."""
    shutil.rmtree(PARTS, ignore_errors=True)
    PARTS.mkdir(parents=True)
    _hatch(ROOT, "sdist", PARTS)
    _hatch(ROOT, "wheel", PARTS)
    _command(["make", "--silent", "vscode"], ROOT)
    shutil.copy(ROOT / _EXTENSION / "build" / VSIX.name, VSIX)
    for name in _tracked(_NEOVIM):
        if "/" in name:  # what lies beside the folders is for those who change the plugin
            (PLUGIN / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / _NEOVIM / name, PLUGIN / name)
    shutil.copy(ROOT / "LICENSE", PLUGIN)
    shutil.copy(ROOT / _NEOVIM / "README.md", PLUGIN)
    shutil.make_archive(f"{PLUGIN}-{__version__}", "gztar", PARTS, PLUGIN.name)
    _tell(f"Built {', '.join(path.name for path in sorted(PARTS.iterdir()))}")


def check_contents() -> None:
    """That each part holds what contents.toml lists, and of the packages all that git keeps."""
    in_git = {f"{folder}/{name}" for folder in _SOURCES for name in _tracked(folder)}
    packages = {name.partition("/")[2] for name in in_git if name.partition("/")[2].startswith("palimpsest")}
    with tarfile.open(SDIST) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    parts = {
        "wheel": (set(_digests(WHEEL)), packages),
        "sdist": (in_sdist, in_git),
        "vsix": (set(_digests(VSIX)), set()),
        "neovim": ({path.relative_to(PLUGIN).as_posix() for path in PLUGIN.rglob("*") if path.is_file()}, set()),
    }
    for part, (names, tracked) in parts.items():
        if problems := differences(names, listed(part), tracked):
            raise CheckFailed("\n    ".join([f"The contents of the {part} are not as listed:", *problems]))
        _tell(f"The {part} holds what it should: {len(names)} files")


def check_rebuilt_wheel(work: Path) -> None:
    """That the source archive alone gives the same wheel."""
    with tarfile.open(SDIST) as archive:
        archive.extractall(work, filter="data")
    _hatch(work / SDIST.name.removesuffix(".tar.gz"), "wheel", work)
    _same(_digests(WHEEL), _digests(work / WHEEL.name), "the wheel from the source archive")
    _tell("The source archive builds the same wheel")


def check_installed(work: Path) -> None:
    """That pipx and uv install the wheel on each bare Python, that it works there, and that each other part works."""
    tools = work / "tools"
    _command([sys.executable, "-m", "venv", tools], work)
    place = empty_place(work / "home of tools", caches=work)
    place.run(tools / "bin" / "python", "-m", "pip", "install", "--quiet", "pipx", "uv")
    found = pythons()
    for minor, python in found.items():
        for tool, install in (("pipx", "install"), ("uv", "tool install")):
            place = empty_place(work / f"{tool} 3.{minor}", caches=work)
            place.run(tools / "bin" / tool, *install.split(), "--python", python, WHEEL)
            try_program(place, place.bin / "palimpsest")
            if tool == "pipx" and not (place.home / ".local/share/man/man1/palimpsest.1").exists():
                raise CheckFailed("pipx did not install the manual page.")
            _tell(f"Python 3.{minor}: {tool} installs the wheel, and a question is answered")
    if missing := [f"3.{minor}" for minor in MINORS if minor not in found]:
        _tell(f"NOT tried, because this machine has no such Python: {', '.join(missing)}")
    if not found:
        raise CheckFailed("This machine has no Python that the release is for.")
    newest = max(found)
    _check_extras(empty_place(work / "extras", caches=work), tools / "bin" / "uv", found[newest])
    _check_neovim(empty_place(work / "neovim", caches=work), work / f"uv 3.{newest}" / ".local" / "bin")
    _check_extension(work, found[min(found)])


def _check_extras(place: Place, uv: Path, python: Path) -> None:
    place.run(uv, "tool", "install", "--python", python, f"palimpsest-ls[{','.join(_EXTRAS)}] @ {WHEEL.as_uri()}")
    installed = place.home / ".local/share/uv/tools/palimpsest-ls/bin/python"
    place.run(installed, "-I", "-c", f"import {', '.join(_EXTRAS.values())}")
    _tell(f"The extras can be installed together: {', '.join(_EXTRAS)}")


def _check_neovim(place: Place, programs: Path) -> None:
    neovim = Path(sys.executable).parent / "nvim"  # the development environment has one
    folder = make_folder(place)
    environ = {**place.environ, "PATH": f"{programs}:{place.environ['PATH']}", "QUESTION": QUESTION, "ANSWER": ANSWER}
    script = Path(__file__).with_name("neovim.lua")
    Place(place.home, environ).run(
        *(neovim, "--headless", "--clean", "--cmd", f"set runtimepath^={PLUGIN}", "-c", f"luafile {script}"),
        folder=folder,
    )
    _tell("Neovim with nothing but the plugin shows the answer to a question")


def _check_extension(work: Path, python: Path) -> None:
    unpacked = work / "vsix"
    with zipfile.ZipFile(VSIX) as archive:
        archive.extractall(unpacked)
    version = json.loads((unpacked / "extension/package.json").read_text("utf-8"))["version"]
    if version != __version__:
        raise CheckFailed(f"The extension has the version {version}, the server {__version__}. Run `make generate`.")
    [wheel] = (unpacked / "extension/server").glob("*.whl")
    _same(_digests(WHEEL), _digests(wheel), "the extension's wheel")
    place = empty_place(work / "home of the extension", caches=work)
    place.run(python, "-m", "venv", place.home / "server")
    pip: list[str | Path] = [place.home / "server/bin/python", "-I", "-m", "pip", "install", "--quiet", "--no-deps"]
    place.run(*pip, "--require-hashes", "-r", unpacked / "extension/server/requirements.txt")
    place.run(*pip, "--no-index", wheel)
    try_program(place, place.home / "server/bin/palimpsest")
    _tell("The extension carries the same wheel, and what it installs answers a question")


def _digests(wheel: Path) -> dict[str, str]:
    """The SHA-256 of each file in a zip archive, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}


def _same(wanted: dict[str, str], found: dict[str, str], what: str) -> None:
    if different := sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name)):
        raise CheckFailed(f"In {what} these files differ from the wheel's: {', '.join(different)}")


def _tracked(folder: str) -> list[str]:
    """The files below a folder that git keeps, by their path in it."""
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT / folder, capture_output=True, text=True, check=True)
    return [name for name in listing.stdout.split("\0") if name]


def _hatch(folder: Path, target: str, into: Path) -> None:
    command: list[str | Path] = [
        sys.executable,
        "-P",
        "-m",
        "hatchling",
        "build",
        "--target",
        target,
        "--directory",
        into,
    ]
    _command(command, folder)


def _command(command: list[str | Path], folder: Path) -> None:
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CheckFailed(f"`{' '.join(map(str, command))}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")


_BEGAN: Final = time.monotonic()


def _tell(sentence: str) -> None:
    print(f"{time.monotonic() - _BEGAN:5.0f} s  {sentence}", flush=True)


def main() -> int:
    """Run the whole check; return the exit code."""
    try:
        for folder in (RELEASE, _WORK):  # what is in RELEASE has passed
            shutil.rmtree(folder, ignore_errors=True)
        _WORK.mkdir(parents=True)
        build()
        check_contents()
        check_rebuilt_wheel(_WORK)
        check_installed(_WORK)
    except (CheckFailed, subprocess.SubprocessError) as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped, so nothing is in build/release.", file=sys.stderr)
        return _INTERRUPTED
    PARTS.rename(RELEASE)
    _tell(f"The release is in {RELEASE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
