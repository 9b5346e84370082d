"""What a request costs depends on what the service has kept of it, and all ways are charged alike."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.billing import Parts, Request, Service, Sizes, cents, tokens, unchanged
from benchmarks.price import SERVICES

# A message of n letters takes n tokens, and 4 beside its text.
SIZES = Sizes(len)
FIRST = Request(["s" * 6, "a" * 16], "answer", begins_turn=True)
GROWN = Request([*FIRST.sent, "b" * 26], "answer", begins_turn=False)
CUT = Request([FIRST.sent[0], "c" * 36], "answer", begins_turn=True)
CUT_BEHIND = Request([*FIRST.sent, "c" * 36], "answer", begins_turn=True)


def parts(requests: list[Request], *, keeps_at_marks: bool = False, pauses: bool = False) -> tuple[float, ...]:
    found = tokens(requests, SIZES, keeps_at_marks=keeps_at_marks, pauses=pauses)
    return found.kept, found.new, found.anew


def test_what_a_request_goes_on_with_is_kept() -> None:
    assert parts([FIRST, GROWN]) == (30, 30 + 30, 0)
    assert unchanged([FIRST, GROWN], SIZES) == pytest.approx(30 / 90)


def test_behind_a_change_all_is_sent_anew() -> None:
    assert parts([GROWN, CUT]) == (10, 60, 40)


def test_a_service_with_marks_keeps_nothing_between_them() -> None:
    """The first message is the same, but no request ended there: only the mark behind the system prompt is found, or
    one behind that message."""
    assert parts([GROWN, CUT_BEHIND]) == (30, 60, 40)
    assert parts([GROWN, CUT_BEHIND], keeps_at_marks=True) == (10, 60, 20 + 40)
    assert parts([replace(GROWN, marked=(1, 2)), CUT_BEHIND], keeps_at_marks=True) == (30, 60, 40)
    assert parts([FIRST, GROWN], keeps_at_marks=True) == parts([FIRST, GROWN])


def test_after_a_pause_a_turn_begins_with_nothing_kept() -> None:
    assert parts([FIRST, replace(GROWN, begins_turn=True)], pauses=True) == (0, 30, 60)
    assert parts([FIRST, GROWN], pauses=True) == parts([FIRST, GROWN])


CLAUDE = Service("Claude", "anthropic", "claude-sonnet-4-5", "claude-haiku-4-5", keeps_at_marks=True)
MILLION = 1_000_000


def test_each_part_has_the_price_that_the_service_asks_for_it() -> None:
    """In cents: a tenth for what is kept, a quarter more for what is written to be kept; another model summarizes."""
    used = Parts(kept=20 * MILLION, new=MILLION, anew=MILLION, summarized=MILLION, summaries=MILLION, answers=MILLION)

    found = cents(used, CLAUDE, prompt_tokens=32_000)

    assert found == Parts(20 * 30, 375, 375, 100, 500, 1500)
    assert found.total == 600 + 375 + 375 + 100 + 500


def test_nobody_pays_for_keeping_what_is_hardly_read_again() -> None:
    used = Parts(kept=MILLION, new=0, anew=20 * MILLION)

    assert cents(used, CLAUDE, prompt_tokens=32_000) == Parts(300, 0, 20 * 300, 0, 0, 0)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_every_service_has_prices(service: Service) -> None:
    assert service.price.input
    assert service.helper_price.output
