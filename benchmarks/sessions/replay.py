"""Replaying a session: before a step of the recorded agent, a system is asked for the context that it would send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from benchmarks.sessions.measures import Cost, History, held, is_orphaned, kept_share, prefix_tokens, text_of
from benchmarks.sessions.recording import Message, Session

_BLOCK: Final = 10
"""Steps in a row, where not every step is measured."""
_NEAR: Final = 12
"""Messages since the last context: with more between, the prefix means nothing."""
_CACHED_PRICE: Final = 0.1
"""Of a token that stands in an unchanged prefix; a new one costs 1."""
_SMALL_FROM, _SMALL_STEPS = 0.45, _BLOCK
"""Where a session goes on with a model of half the budget: behind this share of its steps, for so many."""


class System(Protocol):
    """What makes contexts out of messages. One for each replay."""

    def append(self, message: Message) -> None: ...

    def context(self) -> list[Message]: ...

    def switch(self, budget: int) -> None:
        """Goes on with a model of that budget, in its tokens."""
        ...

    @property
    def n_compactions(self) -> int | None:
        """So far; None where the system does not say."""
        ...

    @property
    def prepare_ms(self) -> float | None:
        """CPU time of preparing the last context; None where the system does not say."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured of one session at one budget."""

    steps: frozenset[int]
    """Messages before which a context is asked for."""
    small: range
    """Messages at which a system that is switched has half the budget."""
    last: int


@dataclass(frozen=True, slots=True)
class Step:
    """The measures of one context."""

    index: int
    """The message that followed."""
    fill: float
    """Of the budget."""
    is_over: bool
    is_orphaned: bool
    prefix: float | None
    """The share that stands unchanged at the beginning, as in the context before; None where none was near."""
    n_old: int
    """Names that the next message uses and that a window of the newest messages has lost."""
    n_held: int
    n_told: int
    kept: float | None
    """The share of the side constraints, in the last step."""
    n_compactions: int | None
    is_behind_switch: bool
    """Whether it comes behind those at which a system that is switched has half the budget."""
    prepare_ms: float | None

    @property
    def price(self) -> float | None:
        """Of the budget."""
        return None if self.prefix is None else self.fill * (1 - (1 - _CACHED_PRICE) * self.prefix)


def plan(session: Session, budget: int, most_steps: int, cost: Cost) -> Plan | None:
    """`budget`: in tokens as `cost` counts. At most about `most_steps` steps, in blocks spread over the session; 0 for
    all. None when the session fits the budget."""
    every: list[int] = []
    total = 0
    for i, message in enumerate(session.messages):
        if message["role"] == "assistant" and total > budget:
            every.append(i)
        total += cost(message)
    if not every:
        return None
    steps = set(every)
    if 0 < most_steps < len(every):
        n_blocks = max(1, most_steps // _BLOCK)
        firsts = [int(b * (len(every) - _BLOCK) / max(1, n_blocks - 1)) for b in range(n_blocks)]
        steps = {step for first in firsts for step in every[first : first + _BLOCK]}
    at = int(_SMALL_FROM * len(every))
    small = every[at : at + _SMALL_STEPS]
    return Plan(frozenset({*steps, every[-1]}), range(small[0], small[-1] + 1), every[-1])


def replay(
    session: Session,
    plan: Plan,
    system: System,
    budget: int,
    cost: Cost,
    switched_from: int | None = None,
) -> list[Step]:
    """`budget`: in tokens as `cost` counts. `switched_from`: the budget in the model's tokens, for a system that goes
    on with a model of half the budget and back in between; of those steps the fill is of the half."""
    history = History(budget, cost)
    steps: list[Step] = []
    before: tuple[int, list[tuple[str, str]]] = (-_NEAR - 1, [])
    asked = set(plan.steps) if switched_from is None else {*plan.steps, *_assistant_steps(session, plan.small)}
    results = set[str]()
    for i, message in enumerate(session.messages[: plan.last + 1]):
        if switched_from is not None and i == plan.small.start:
            system.switch(switched_from // 2)
        if switched_from is not None and i == plan.small.stop:
            system.switch(switched_from)
        if i in asked:
            is_small = switched_from is not None and i in plan.small
            context = system.context()
            now = [(entry["role"], text_of(entry)) for entry in context]
            texts = [text for _, text in now]
            tokens = [cost(entry) for entry in context]
            limit = budget // 2 if is_small else budget
            old = history.old_names(message)
            here = held(old, texts)
            near = before[0] >= i - _NEAR
            steps.append(
                Step(
                    index=i,
                    fill=sum(tokens) / limit,
                    is_over=sum(tokens) > limit,
                    is_orphaned=is_orphaned(context, results),
                    prefix=prefix_tokens(before[1], now, tokens) / max(1, sum(tokens)) if near else None,
                    n_old=len(old),
                    n_held=len(here),
                    n_told=len(history.told(here, texts)),
                    kept=kept_share(session.constraints, texts) if session.constraints and i == plan.last else None,
                    n_compactions=system.n_compactions,
                    is_behind_switch=i >= plan.small.stop,
                    prepare_ms=system.prepare_ms,
                )
            )
            before = i, now
        system.append(message)
        history.append(message)
        if answered := message.get("tool_call_id"):
            results.add(answered)
    return steps


def _assistant_steps(session: Session, within: range) -> list[int]:
    return [i for i in within if session.messages[i]["role"] == "assistant"]
