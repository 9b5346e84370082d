"""The examples of the documents run: those that need no service, no other program and no terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.documented import DOCUMENTS, command_lines, name_of, runs_of_palimpsest
from tests.lsp.real_server import home

from palimpsest.cli.main import main

ALONE = frozenset("facts export import doctor backup rescue adopt trust completion replay logout".split())
SAID = [{"role": "user", "content": "Where is the tax rate?"}, {"role": "assistant", "content": "In src/prices.py."}]
EXAMPLES = {
    document: found
    for document in DOCUMENTS
    if (
        found := [
            words
            for line in command_lines(document.read_text(encoding="utf-8"))
            for words in runs_of_palimpsest(line)
            if words[0] in ALONE
        ]
    )
}


@pytest.mark.parametrize("document", EXAMPLES, ids=name_of)
def test_an_example_does_what_it_says_or_says_why_not(
    document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in home(tmp_path).items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "src" / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "prices.py").write_text("RATE = 0.19\n" * 20, encoding="utf-8")
    for name in ("said.jsonl", "session.jsonl"):
        (folder / name).write_text("".join(json.dumps(each) + "\n" for each in SAID), encoding="utf-8")
    monkeypatch.chdir(folder)
    for _ in range(3):
        assert main(["import", "said.jsonl"]) == 0
    for words in EXAMPLES[document]:
        capsys.readouterr()
        code = main([word.replace("~", str(tmp_path), 1) if word.startswith("~") else word for word in words])
        said = capsys.readouterr()
        if code:
            assert re.match(r"palimpsest: .*[.?]\n$", said.err, re.DOTALL), (words, said)
        elif words[0] != "logout":
            assert said.out + said.err, words
