from __future__ import annotations

from benchmarks.sessions.measures import Cost
from benchmarks.sessions.recording import Message, Session
from benchmarks.sessions.replay import plan, replay
from benchmarks.sessions.tables import behind, measures_of, pooled


def words(text: str) -> int:
    return len(text.split())


COST = Cost(words)
TALK: list[Message] = [
    {"i": i, "role": "assistant" if i % 2 else "user", "content": f"word src/file_{i}.py " * 3} for i in range(400)
]
SESSION = Session("made up", tuple(TALK))


class Newest:
    """The newest messages; says that it compacted before every fourth context."""

    prepare_ms: float | None = None

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.budgets: list[int] = []
        self.n_asked = 0

    @property
    def n_compactions(self) -> int:
        return self.n_asked // 4

    def append(self, message: Message) -> None:
        self.messages.append(message)

    def context(self) -> list[Message]:
        self.n_asked += 1
        return self.messages[-2:]

    def switch(self, budget: int) -> None:
        self.budgets.append(budget)

    def close(self) -> None:
        pass


def test_a_session_that_fits_its_budget_is_not_measured() -> None:
    assert plan(SESSION, 1_000_000, 80, COST) is None


def test_all_steps_behind_the_budget_are_measured_or_blocks_of_ten_and_the_last() -> None:
    every, some = plan(SESSION, 100, 0, COST), plan(SESSION, 100, 40, COST)
    assert every is not None
    assert some is not None

    assert every.steps == {step["i"] for step in TALK if step["role"] == "assistant" and step["i"] * 10 > 100}
    assert len(some.steps) == 40
    assert every.last == some.last == 399
    assert 399 in some.steps


def test_a_system_that_is_switched_has_half_the_budget_in_the_middle_and_all_of_it_behind() -> None:
    planned = plan(SESSION, 100, 20, COST)
    assert planned is not None
    system = Newest()

    steps = replay(SESSION, planned, system, 100, COST, 160)

    assert system.budgets == [80, 160]
    small = [step for step in steps if step.index in planned.small]
    assert len(small) == 10
    assert {step.fill for step in small} == {2 * step.fill for step in steps if step.index not in planned.small}
    assert [step.is_behind_switch for step in steps] == [step.index >= planned.small.stop for step in steps]


def test_a_token_of_the_prefix_costs_a_tenth() -> None:
    planned = plan(Session("two", tuple(TALK[:20])), 100, 0, COST)
    assert planned is not None

    first, second, *_ = replay(SESSION, planned, Newest(), 100, COST)

    assert first.price is None  # nothing to compare it with
    assert second.prefix == 0
    assert second.price == second.fill == 0.2


def test_steps_behind_compactions_are_the_same_for_every_system() -> None:
    planned = plan(SESSION, 100, 0, COST)
    assert planned is not None
    ours = replay(SESSION, planned, Newest(), 100, COST)
    others = [step for step in ours if step.index]

    later = behind({"ours": {"made up": ours}, "others": {"made up": others}}, 3)

    assert later["ours"] == later["others"]
    assert len(later["ours"]["made up"]) == len(ours) - 11


def test_pooled_figures_weigh_names_and_means_weigh_steps() -> None:
    class Held(Newest):
        """Has all files from the 300th message on."""

        def context(self) -> list[Message]:
            return self.messages if len(self.messages) > 300 else self.messages[-1:]

    talk = [{**each, "content": f"{each['content']} src/file_{max(each['i'] - 50, 0)}.py"} for each in TALK]
    session = Session("made up", tuple(talk))
    planned = plan(session, 100, 0, COST)
    assert planned is not None

    steps = replay(session, planned, Held(), 100, COST)

    n_early, n_late = (sum(step.n_old for step in steps if (step.index > 300) is late) for late in (False, True))
    held, _, n_names = pooled([steps])
    assert n_names == n_early + n_late
    assert held == 100 * n_late / n_names
    assert measures_of(steps).kept is None
