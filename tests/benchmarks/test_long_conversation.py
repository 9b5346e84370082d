from __future__ import annotations

import pytest
from benchmarks import long_conversation


@pytest.mark.parametrize("options", [[], ["--no-recall"], ["--coding"]], ids=" ".join)
def test_every_request_fits_and_keeps_the_rule_while_summaries_are_merged(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The benchmark itself looks for the rule in every request."""
    long_conversation.main(["70", "4000", *options])

    said = capsys.readouterr().out
    last = next(line.split() for line in said.splitlines() if line.split()[:1] == ["70"] and "ms" in line)
    n_summaries, fullest = int(last[2]), float(last[3].rstrip("%"))
    assert n_summaries > 0
    assert 50 < fullest <= 100
    assert int(said.split("the highest of level ")[1].split()[0]) > 1
