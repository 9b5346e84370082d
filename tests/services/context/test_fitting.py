"""A dry run, admission and the turn decide alike: what is admitted is sent, what cannot be sent is refused before it is
stored, and `prepareContext` says which it will be."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace

import pytest
from tests.services.scripted import Bench, Opener, ScriptedProvider, says
from tests.slow import slow

from palimpsest.domain.context.cut import MessagePiece, SummaryPiece
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.errors import RecentMessagesTooLarge, SummarizationNeeded
from palimpsest.domain.messages import Content, user_message
from palimpsest.domain.models.limits import with_window
from palimpsest.domain.models.provider import Finished, StopReason, StreamEvent, TextDelta, TokenUsage
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.context.admission import Admission, Beside
from palimpsest.services.context.previews import Accepted
from palimpsest.services.context.reports import explain, usage_status
from palimpsest.services.context.rule_commands import RuleCommands
from palimpsest.services.context.state import ContextState
from palimpsest.services.models.catalog import with_override
from palimpsest.storage.context import cuts as stored

WORDS = [
    f"{verb}{thing}" for verb in ("load", "merge", "cache", "cut") for thing in ("Er", "List", "Map", "_file", "s")
]


def text(rng: random.Random, n_words: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(n_words)) + "."


@dataclass
class Counting(ScriptedProvider):
    """Takes more tokens than the vocabulary says, and says so."""

    factor: float = 1.0

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        self.seen.append(context)
        raw = sum(sum(map(len, each.text.split())) for each in context.messages) // 4
        yield TextDelta(text(random.Random(len(self.seen)), 60))
        yield Finished(StopReason.END, TokenUsage(input_tokens=int(self.factor * (raw + 300)), output_tokens=9))


async def talked(bench: Opener, n_turns: int, **options: object) -> Bench:
    b = await bench([], **options)
    rng = random.Random(5)
    for number in range(n_turns):
        b.provider.replies = [says(text(rng, 60))]
        rule = "Never use tabs in part {}. " if number % 9 == 4 else "{} "
        assert await b.ask(rule.format(number) + text(rng, 60)) == "committed"
    return b


async def check(b: Bench, message: str) -> str:
    """What becomes of the message, in a word; its dry run must have said so, and nothing is lost or stuck."""
    contexts = b.session.contexts
    plan = await explain(contexts, b.conversation_id, message)
    before = (await b.session.conversations.read(b.conversation_id, None, None)).record.n_messages
    n_sent, version = len(b.provider.seen), (await contexts.state(b.conversation_id)).cut.version
    b.provider.replies = [says("I see.")]
    try:
        running = await b.session.turns.start(b.conversation_id, message[:40], user_message(message))
    except RecentMessagesTooLarge as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        after = (await b.session.conversations.read(b.conversation_id, None, None)).record.n_messages
        assert after == before, "a refused message was stored"
        assert str(plan.problem) == refusal
        return "refused"
    assert not isinstance(running, str)
    end = await running.wait()
    assert end.state.value == "committed", (end.error_message, plan.problem)
    assert not isinstance(plan.problem, RecentMessagesTooLarge)
    sent = b.provider.seen[n_sent]
    assert message in [each.text for each in sent.messages]
    assert sent.upper_tokens <= sent.limit_tokens
    was_compacted = (await contexts.state(b.conversation_id)).cut.version > version
    if plan.problem is None:
        return "cut anew" if was_compacted else "whole"
    assert isinstance(plan.problem, SummarizationNeeded)
    assert plan.problem.messages_to_summarize
    assert was_compacted
    return "compacted"


@pytest.mark.parametrize("setting", [{}, slow({"infinity": False}), slow({"strategies": ("threshold",)})])
async def test_every_size_of_message_is_sent_or_refused_as_the_dry_run_said(
    bench: Opener, setting: dict[str, object]
) -> None:
    b = await talked(bench, 40, window=8_000, context={**setting, "max_tokens": 4_000})
    found = []
    for share in (0.05, 0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.95, 1.0, 1.05):
        found.append(await check(b, f"{share} " + "the " * int(share * 3_700)))
        for number in range(6):  # something to summarize again
            await check(b, f"{share} {number} " + text(random.Random(number), 60))
    assert found[-1] == "refused"
    assert "refused" not in found[:9], found
    kept = found[: found.index("refused")]
    assert set(found[len(kept) :]) == {"refused"}
    if not setting.get("infinity", True):
        assert set(kept) <= {"whole", "cut anew"}
    else:
        assert "compacted" in kept


async def test_one_message_that_is_too_long_is_named_with_what_would_fit(bench: Opener) -> None:
    b = await talked(bench, 12, window=6_000, reserve=500)
    with pytest.raises(RecentMessagesTooLarge, match="Your message is too long for this model") as caught:
        await b.session.turns.start(b.conversation_id, "huge", user_message("the " * 9_000))
    too_long = caught.value.too_long
    assert too_long is not None
    assert too_long.tokens > too_long.room_tokens > 0
    assert f"it takes {too_long.tokens:,} tokens, but only {too_long.room_tokens:,} of " in str(caught.value)
    fits = int(9_000 * too_long.room_tokens / too_long.tokens)
    assert await check(b, "the " * (fits + 400)) == "refused"
    assert await check(b, "the " * (fits - 50)) != "refused"


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.5])
async def test_what_is_free_for_a_message_does_not_depend_on_its_length(bench: Opener, factor: float) -> None:
    """Estimates of what was measured do not add up: taken from each other, they left more free than there is."""
    b = await bench([], window=9_000, reserve=600)
    service = Counting([], factor=factor)
    models = b.session.contexts.models
    b.session.contexts.models = replace(models, providers={**models.providers, "offline": service})
    b.provider = service
    rng = random.Random(7)
    for number in range(3):
        assert await check(b, f"first {number} " + text(rng, 100)) == "whole"
    found = []
    for n_words in (10_000, 12_000, 20_000, 60_000):
        with pytest.raises(RecentMessagesTooLarge, match="Your message is too long") as caught:
            await b.session.turns.start(b.conversation_id, str(n_words), user_message("the " * n_words))
        assert caught.value.too_long is not None
        rest = caught.value.required_tokens - caught.value.too_long.tokens
        assert rest + caught.value.too_long.room_tokens == caught.value.budget_tokens
        found.append(caught.value.too_long)
    assert len({each.room_tokens for each in found}) == 1
    assert [each.tokens for each in found] == sorted({each.tokens for each in found})


async def test_two_large_messages_after_each_other_are_both_sent(bench: Opener) -> None:
    b = await bench([], window=6_000, reserve=500)
    for number in range(4):
        assert await check(b, f"{number} " + "the " * 4_400) in ("whole", "cut anew", "compacted")
    assert await check(b, "the " * 5_200) == "refused"
    assert await check(b, "And a small one.") != "refused"


@pytest.mark.parametrize("factor", [0.8, 1.0, 1.12, 1.3, 1.6])
async def test_what_a_service_was_measured_to_count_decides_admission_too(bench: Opener, factor: float) -> None:
    """The spread of a single measured answer is wide: by it a message may be refused, never after it was admitted."""
    b = await bench([], window=9_000, reserve=600)
    service = Counting([], factor=factor)
    models = b.session.contexts.models
    model = replace(with_window(models.get("offline"), 9_000), estimator=Estimator(1.1, 0.05))
    b.session.contexts.models = replace(with_override(models, model), providers={"offline": service})
    b.provider = service
    rng = random.Random(int(10 * factor))
    found = [await check(b, f"first {number} " + text(rng, 200)) for number in range(2)]
    for share in (0.5, 0.9, 0.7, 0.85, 0.6, 0.8, 0.95, 0.75, 0.99, 1.3):
        found.append(await check(b, f"{share} " + "the " * int(share * 8_000 / 1.2)))
        found.append(await check(b, f"{share} between " + text(rng, 40)))
    assert "refused" in found


async def test_what_is_told_beside_a_measured_conversation_is_counted_as_it_will_stand(bench: Opener) -> None:
    """Estimates of what was measured do not add up: the whole is estimated, not the addition."""
    b = await bench([], window=9_000, reserve=600)
    b.provider = service = Counting([], factor=1.2)
    models = b.session.contexts.models
    b.session.contexts.models = replace(models, providers={**models.providers, "offline": service})
    assert await b.ask("first " + text(random.Random(3), 100)) == "committed"
    state = await b.session.contexts.state(b.conversation_id)
    (turn_id,) = {each for piece in state.pieces if isinstance(piece, MessagePiece) and (each := piece.message.turn_id)}
    count = state.tokenizer.count
    assert state.measured.request
    for n_words in (5, 40, 300):
        told = text(random.Random(n_words), n_words)
        assert state.with_more(count(told)).estimate == state.with_injection(turn_id, told).estimate


async def test_what_a_user_expanded_gives_way_to_a_message_that_was_admitted(bench: Opener) -> None:
    b = await talked(bench, 40, window=4_500, reserve=500)
    state = await b.session.contexts.state(b.conversation_id)
    oldest = next(piece for piece in state.pieces if isinstance(piece, SummaryPiece))
    await b.store.run(stored.expand, b.conversation_id, oldest.start, oldest.end)
    b.session.contexts.forget(b.conversation_id)
    assert await check(b, "the " * 3300) == "compacted"
    assert (await b.session.contexts.state(b.conversation_id)).expansions == ()


async def test_pins_and_rules_count_for_what_fits(bench: Opener) -> None:
    b = await talked(bench, 30, window=4_500, reserve=500)
    await RuleCommands(b.session.contexts).pin(b.conversation_id, "The schema is frozen. " * 60)
    found = [await check(b, f"{n} " + "the " * n) for n in range(2_400, 3_700, 150)]
    assert found[-1] == "refused"
    assert found[0] != "refused"
    state = await b.session.contexts.state(b.conversation_id)
    assert "The schema is frozen." in state.front.text


@pytest.mark.parametrize("n_turns", [0, 3])
async def test_a_message_too_long_for_the_first_model_goes_to_a_target_it_fits(bench: Opener, n_turns: int) -> None:
    b = await talked(bench, n_turns, window=4_000, reserve=500)
    models = b.session.contexts.models
    large = replace(
        with_window(models.get("offline"), 40_000), name="large", provider="anthropic", service_name="large"
    )
    other = ScriptedProvider([says("I can.")], name="anthropic")
    models = with_override(models, large)
    b.session.contexts.models = replace(
        models,
        providers={**models.providers, "anthropic": other},
        settings=Settings(model="offline", targets=("large",), context=models.settings.context),
    )
    plan = await explain(b.session.contexts, b.conversation_id, "the " * 9_000)
    assert (plan.problem, plan.model) == (None, "large")
    assert await b.ask("the " * 9_000) == "committed"
    assert [request.model for request in other.seen] == ["large"]
    assert (await b.session.contexts.state(b.conversation_id)).model.name == "large"
    other.replies = [says("Here too.")]
    blank = b.session.conversations.blank()
    begun = await b.session.turns.begin(blank, "first", user_message("the " * 8_000))
    assert not isinstance(begun, str)
    assert (await begun.wait()).state.value == "committed"
    too_much = await explain(b.session.contexts, b.conversation_id, "the " * 60_000)
    assert isinstance(too_much.problem, RecentMessagesTooLarge)
    with pytest.raises(RecentMessagesTooLarge):
        await b.session.turns.start(b.conversation_id, "more", user_message("the " * 60_000))


async def test_a_message_is_checked_again_where_the_model_was_switched_meanwhile(
    bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = await talked(bench, 0, window=4_000, reserve=500)
    models = b.session.contexts.models
    large = replace(with_window(models.get("offline"), 40_000), name="large", provider="anthropic")
    models = with_override(models, large)
    other = ScriptedProvider([], name="anthropic")
    b.session.contexts.models = replace(models, providers={**models.providers, "anthropic": other})
    await b.session.conversations.switch_model(b.conversation_id, "large")
    wanted, check = ["offline"], Admission.check

    async def checked(self: Admission, state: ContextState, content: Content, frame: Frame) -> tuple[Accepted, Beside]:
        done = await check(self, state, content, frame)
        if wanted:
            await b.session.conversations.switch_model(b.conversation_id, wanted.pop())
        return done

    monkeypatch.setattr(Admission, "check", checked)
    with pytest.raises(RecentMessagesTooLarge):
        await b.session.turns.start(b.conversation_id, "x", user_message("the " * 9_000))
    assert await b.said() == []


async def test_a_message_has_to_fit_beside_the_frame_its_turn_takes_up(bench: Opener) -> None:
    b = await talked(bench, 2, window=4_000, reserve=500)

    async def larger() -> Frame:
        return Frame("Mind the house rules. " * 300, ())

    b.frame_now = larger
    with pytest.raises(RecentMessagesTooLarge):
        await b.session.turns.start(b.conversation_id, "x", user_message("the " * 2_500))
    assert await check(b, "the " * 1_200) != "refused"


async def test_the_status_of_a_context_is_that_of_its_next_request(bench: Opener) -> None:
    b = await talked(bench, 20, window=4_000, reserve=500)
    contexts = b.session.contexts
    assert (await usage_status(contexts, b.conversation_id)).problem is None
    state = await contexts.state(b.conversation_id)
    state.budget = replace(state.budget, budget=state.estimate.upper - 1)
    assert isinstance((await usage_status(contexts, b.conversation_id)).problem, SummarizationNeeded)
