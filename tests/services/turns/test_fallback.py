"""A request that a service does not take is made smaller once, then goes to the user's next target; only before the
first word of an answer, and with every promise about requests kept."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from tests.services.scripted import Action, Bench, Opener, ScriptedProvider, says

from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.errors import ErrorDetail, ErrorKind, ProviderError
from palimpsest.domain.models.limits import LimitsSource, with_window
from palimpsest.domain.models.provider import Pause, TextDelta
from palimpsest.domain.settings.settings import Settings
from palimpsest.machine import utc_now
from palimpsest.services.context.rule_commands import RuleCommands
from palimpsest.services.events import ContextEvent
from palimpsest.services.models.catalog import with_override
from palimpsest.storage import models as learned
from palimpsest.storage.tables import Step, StreamJournal

OUTAGES = (ErrorKind.OVERLOADED, ErrorKind.NETWORK, ErrorKind.RATE_LIMITED, ErrorKind.QUOTA)


def failure(kind: ErrorKind, limit: int | None = None, projected: int | None = None) -> list[Action]:
    """An answer that is an error from its beginning."""
    detail = ErrorDetail(limit_tokens=limit, projected_tokens=projected)
    return [ProviderError(kind, "The service did not take the request.", detail)]


def too_long(limit: int | None = None, projected: int | None = None) -> list[Action]:
    return failure(ErrorKind.CONTEXT_TOO_LONG, limit, projected)


async def talk(bench: Opener, n_turns: int = 6, window: int = 4_000) -> Bench:
    """A conversation of about 300 tokens a turn."""
    b = await bench(
        [says(f"Answer {n}. " + "The pump is on. " * 40) for n in range(n_turns)], window=window, reserve=500
    )
    for number in range(n_turns):
        assert await b.ask(f"Question {number}. " + "It is wet. " * 20) == "committed"
    return b


def let_go_on(b: Bench, *names: str, **windows: int) -> ScriptedProvider:
    """Sets the user's targets. A model is added for each of `windows`, of another provider, which plays the replies
    that are given to it later."""
    other = ScriptedProvider([], name="anthropic")
    models = b.session.contexts.models
    for name, window in windows.items():
        model = replace(with_window(models.get("offline"), window), name=name, provider="anthropic", service_name=name)
        models = with_override(models, model)
    settings = Settings(targets=names, context=models.settings.context)
    b.session.contexts.models = replace(models, providers={**models.providers, "anthropic": other}, settings=settings)
    return other


def guards(b: Bench) -> list[ContextEvent]:
    return [e for e in b.events if isinstance(e, ContextEvent) and e.type is ContextEventType.GUARD]


async def journal_size(b: Bench) -> int:
    return await b.store.read(lambda: StreamJournal.select().count())


async def open_steps(b: Bench) -> int:
    return await b.store.read(lambda: Step.select().where(Step.ending.is_null()).count())


async def check_requests(b: Bench) -> None:
    """Every request fits, and begins with the one before it unless a compaction came between."""
    requests = b.provider.seen
    n_broken = sum(y.lines()[: len(x.lines())] != x.lines() for x, y in itertools.pairwise(requests))
    n_compactions = sum(isinstance(e, ContextEvent) and e.type is ContextEventType.COMPACTION for e in b.events)
    assert all(request.upper_tokens <= request.limit_tokens for request in requests)
    assert n_broken <= n_compactions
    assert await journal_size(b) == await open_steps(b) == 0


async def test_a_limit_a_service_names_is_learned_and_the_turn_commits_with_a_smaller_request(bench: Opener) -> None:
    b = await talk(bench)
    other = await b.session.conversations.create("other", None)
    assert (await b.session.contexts.state(other.id)).model.source is not LimitsSource.LEARNED
    b.provider.replies = [too_long(1_500, 2_100), says("It fits.")]
    assert await b.ask("And now?") == "committed"
    refused, taken = b.provider.seen[-2:]
    assert taken.estimated_tokens <= 0.9 * refused.estimated_tokens
    assert taken.limit_tokens < 1_500
    state = await b.session.contexts.state(b.conversation_id)
    assert (state.model.source, state.model.limits.window) == (LimitsSource.LEARNED, 1_500)
    assert await b.store.read(learned.learned_limits, utc_now()) == {"offline/offline": 1_500}
    assert (await b.session.contexts.state(other.id)).budget == state.budget, "another conversation was not capped"
    assert [text for _, text, _ in (await b.said())[-2:]] == ["And now?", "It fits."]
    assert {status for _, _, status in await b.said()} == {"complete"}
    await check_requests(b)
    b.provider.replies = [says("Still.")]
    assert await b.ask("And then?") == "committed"
    await check_requests(b)


async def test_a_service_that_names_no_limit_is_sent_a_tenth_less(bench: Opener) -> None:
    b = await talk(bench)
    b.provider.replies = [too_long(), says("It fits.")]
    assert await b.ask("And now?") == "committed"
    refused, taken = b.provider.seen[-2:]
    state = await b.session.contexts.state(b.conversation_id)
    assert state.model.limits.window == int(0.9 * refused.estimated_tokens)
    assert taken.estimated_tokens <= 0.9 * refused.estimated_tokens
    await check_requests(b)


async def test_the_model_is_asked_twice_and_not_a_third_time(bench: Opener) -> None:
    b = await talk(bench)
    b.provider.replies = [too_long(2_000), too_long(1_900), says("never said")]
    assert await b.ask("And now?") == "errored"
    assert len(b.provider.replies) == 1
    assert (await b.said())[-1] == ("user", "And now?", "complete")
    await check_requests(b)


async def test_after_a_second_refusal_a_larger_target_goes_on(bench: Opener) -> None:
    b = await talk(bench)
    other = let_go_on(b, "large", large=40_000)
    other.replies = [says("I can.")]
    b.provider.replies = [too_long(2_000), too_long(1_900)]
    assert await b.ask("And now?") == "committed"
    assert [text for _, text, _ in (await b.said())[-1:]] == ["I can."]
    (event,) = guards(b)
    assert (event.trigger, event.outcome, event.limit_tokens) == ("turn_preflight", "skipped_provider", 1_900)
    await check_requests(b)


@pytest.mark.parametrize("limit", [1, 100, 250])
async def test_a_limit_that_leaves_no_room_for_a_request_does_not_lock_the_conversation(
    bench: Opener, limit: int
) -> None:
    b = await talk(bench)
    b.provider.replies = [too_long(limit), says("It fits.")]
    assert await b.ask("And now?") == "committed"
    b.session.contexts.forget(b.conversation_id)
    assert (await b.session.contexts.state(b.conversation_id)).budget.budget > 0
    await check_requests(b)


@pytest.mark.parametrize("kind", OUTAGES)
async def test_when_a_service_is_out_the_next_target_answers_and_the_user_is_told(
    bench: Opener, kind: ErrorKind
) -> None:
    b = await talk(bench, 2)
    other = let_go_on(b, "second", second=4_000)
    other.replies = [says("I am here.")]
    b.provider.replies = [failure(kind)]
    assert await b.ask("And now?") == "committed"
    assert (await b.said())[-2:] == [("user", "And now?", "complete"), ("assistant", "I am here.", "complete")]
    (event,) = guards(b)
    assert event.error is not None
    assert event.error.startswith("offline could not answer the request, so second answers it.")
    assert (await b.session.conversations.read(b.conversation_id, None, None)).record.model == "second"
    assert (await b.session.contexts.state(b.conversation_id)).model.name == "second"
    assert other.seen[0].model == "second"
    await check_requests(b)


async def test_an_answer_that_was_only_paused_for_has_not_begun(bench: Opener) -> None:
    b = await talk(bench, 1)
    other = let_go_on(b, "second", second=4_000)
    other.replies = [says("I am here.")]
    b.provider.replies = [[Pause("Too many requests.", 20, 1, print), *failure(ErrorKind.RATE_LIMITED)]]
    assert await b.ask("And now?") == "committed"
    assert (await b.said())[-2:] == [("user", "And now?", "complete"), ("assistant", "I am here.", "complete")]
    await check_requests(b)


async def test_without_a_target_an_outage_ends_the_turn_and_the_question_is_kept(bench: Opener) -> None:
    b = await talk(bench, 1)
    b.provider.replies = [failure(ErrorKind.OVERLOADED)]
    assert await b.ask("And now?") == "errored"
    assert (await b.said())[-1] == ("user", "And now?", "complete")
    await check_requests(b)
    b.provider.replies = [says("Here again.")]
    assert await b.ask("And now, again?") == "committed"


async def test_what_another_service_cannot_mend_does_not_move_the_conversation(bench: Opener) -> None:
    b = await talk(bench, 1)
    other = let_go_on(b, "second", second=4_000)
    b.provider.replies = [failure(ErrorKind.AUTH)]
    assert await b.ask("And now?") == "errored"
    assert (other.seen, guards(b)) == ([], [])
    assert (await b.session.contexts.state(b.conversation_id)).model.name == "offline"


@pytest.mark.parametrize("kind", [ErrorKind.OVERLOADED, ErrorKind.CONTEXT_TOO_LONG])
async def test_after_the_first_word_nothing_is_tried_and_the_word_is_kept(bench: Opener, kind: ErrorKind) -> None:
    b = await talk(bench, 1)
    other = let_go_on(b, "second", second=40_000)
    b.provider.replies = [[TextDelta("I beg"), *failure(kind, 100)], says("never said")]
    assert await b.ask("And now?") == "errored"
    assert (await b.said())[-1] == ("assistant", "I beg", "errored")
    assert (other.seen, guards(b), len(b.provider.replies)) == ([], [], 1)
    assert await b.store.read(learned.learned_limits, utc_now()) == {}
    await check_requests(b)


async def test_targets_that_cannot_help_are_passed_over(bench: Opener) -> None:
    b = await talk(bench)
    other = let_go_on(b, "frobnicator", "gpt-4o", "offline", "small", "large", small=3_000, large=40_000)
    other.replies = [says("I can.")]
    b.provider.replies = [too_long(3_100), too_long(3_100)]
    assert await b.ask("And now?") == "committed"
    assert [request.model for request in other.seen] == ["large"]
    assert len(guards(b)) == 1


async def test_a_target_the_pins_do_not_fit_is_passed_over(bench: Opener) -> None:
    b = await talk(bench, 2)
    await RuleCommands(b.session.contexts).pin(b.conversation_id, "The schema is frozen. " * 40)
    other = let_go_on(b, "tiny", "second", tiny=1_600, second=4_000)
    other.replies = [says("I can.")]
    b.provider.replies = [failure(ErrorKind.NETWORK)]
    assert await b.ask("And now?") == "committed"
    assert [request.model for request in other.seen] == ["second"]


async def test_targets_are_tried_once_each_in_their_order(bench: Opener) -> None:
    b = await talk(bench, 1)
    other = let_go_on(b, "one", "two", one=4_000, two=4_000)
    other.replies = [failure(ErrorKind.OVERLOADED), failure(ErrorKind.NETWORK), says("never said")]
    b.provider.replies = [failure(ErrorKind.OVERLOADED)]
    assert await b.ask("And now?") == "errored"
    assert [request.model for request in other.seen] == ["one", "two"]
    assert len(other.replies) == 1
    await check_requests(b)


async def test_a_small_request_refused_without_a_number_teaches_no_limit(bench: Opener) -> None:
    b = await bench([too_long(), says("It fits.")], window=200_000)
    models = b.session.contexts.models
    before = models.budget(models.get("offline"))
    await b.ask("Hello.")
    assert models.budget(models.get("offline")) == before
    assert await b.store.read(learned.learned_limits, utc_now()) == {}
    assert "offline" in [choice.model.name for choice in models.choices()]
    b.provider.replies = [says("Still here.")]
    assert await b.ask("Are you there?") == "committed"
