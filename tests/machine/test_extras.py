"""A user who needs an extra is told a way to install it that works where the server is installed."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from palimpsest.machine.extras import BY_VSCODE, MADE_BY_VSCODE, Extra, how_to_install, missing, missing_in


@pytest.mark.parametrize(
    ("mark", "how"),
    [
        ("pyvenv.cfg", "-m pip install 'palimpsest-ls[web]'`. It counts from the next start."),
        (MADE_BY_VSCODE, "Web Pages and Sharing* of VS Code installs it."),
    ],
)
def test_the_way_fits_the_environment(mark: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / mark).touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert missing(Extra.WEB).endswith(how)


@pytest.mark.parametrize("extra", Extra)
def test_a_sentence_tells_which_extra_it_is_about(extra: Extra) -> None:
    assert missing_in(f"Before. {missing(extra)} Nothing was sent.") is extra
    assert missing_in("The file is not installed.") is None


def test_the_command_and_the_mark_are_those_of_the_extension() -> None:
    extension = Path(__file__).resolve().parents[2] / "editors" / "vscode"
    (title,) = re.findall(r"\*Palimpsest: (.+)\* of VS Code", BY_VSCODE)
    assert f'"title": "{title}"' in (extension / "package.json").read_text("utf-8")
    assert f'"{MADE_BY_VSCODE}"' in (extension / "src" / "server" / "managed.ts").read_text("utf-8")


def test_an_extra_is_installed_for_the_python_that_runs_this(monkeypatch: pytest.MonkeyPatch) -> None:
    assert how_to_install("web") == f"{shlex.quote(sys.executable)} -m pip install 'palimpsest-ls[web]'"
    monkeypatch.setitem(sys.modules, "pip", None)
    assert how_to_install("web") == f"uv pip install --python {shlex.quote(sys.executable)} 'palimpsest-ls[web]'"


def test_pipx_installs_an_extra_where_it_made_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pipx_metadata.json").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert how_to_install("web") == "pipx inject palimpsest-ls 'palimpsest-ls[web]'"
