"""The commands about what Palimpsest remembers across conversations: rules, pins and facts."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.context.rules.rule_set import RuleState
from palimpsest.domain.context.rules.standing import StandingRules
from palimpsest.domain.facts.fact import FactFilter, FactId, StoredFact
from palimpsest.domain.facts.text import STALE, author_remark, sign_of
from palimpsest.services.chat.commands.markdown import minute, plain, table
from palimpsest.services.chat.commands.scope import Reply, Scope, number
from palimpsest.services.context.rule_commands import RuleCommands, is_ordinary

_MOST_FACTS: Final = 30
_STATES: Final = {
    RuleState.OPEN: "holds",
    RuleState.SUPERSEDED: "superseded",
    RuleState.WITHDRAWN: "withdrawn",
}


async def pin(scope: Scope, text: str) -> Reply:
    rules = await RuleCommands(scope.contexts).pin(scope.conversation_id, text)
    return Reply(f"Pinned. The rule holds in every conversation of this folder.\n\n{_listed(rules)}")


async def rules(scope: Scope, _: str) -> Reply:
    return Reply(_listed(await RuleCommands(scope.contexts).rules(scope.conversation_id)))


async def withdraw(scope: Scope, rule_id: str) -> Reply:
    return Reply(
        f"Withdrawn.\n\n{_listed(await RuleCommands(scope.contexts).withdraw(scope.conversation_id, rule_id))}"
    )


async def facts(scope: Scope, words: str) -> Reply:
    found = await (scope.facts.search(words) if words else scope.facts.select(FactFilter(limit=_MOST_FACTS)))
    if not found:
        return Reply("No fact matches." if words else "There are no facts about this folder yet.")
    return Reply("\n".join(["## Facts of this folder", "", *map(_line, found)]))


async def forget(scope: Scope, argument: str) -> Reply:
    which, _, consent = argument.partition(" ")
    fact_id = FactId(number(which, "/forget N, with the number of a fact in /facts"))
    fact = await scope.facts.get(fact_id)
    if fact.is_shared and consent.strip() != "yes":
        return Reply(
            f"Your team has this fact, and would forget it for good: {plain(fact.fact.content + author_remark(fact))}"
            f"\n\nType `/forget {fact_id} yes` to forget it everywhere."
        )
    await scope.facts.forget(fact_id)
    where = "it here" if fact.is_shared else "it"
    return Reply(f"Forgotten: {plain(fact.fact.content)}\n\nWithin 30 days, `/restore {fact_id}` restores {where}.")


async def restore(scope: Scope, argument: str) -> Reply:
    if argument:
        fact = await scope.facts.restore(FactId(number(argument, "/restore N, with a number that /restore lists")))
        said = "Restored" if fact.is_open else "Restored, but it no longer holds"
        return Reply(f"{said}: {plain(fact.fact.content)}")
    rows = [(f"{each.id}", each.content, minute(each.forgotten_at)) for each in await scope.facts.forgotten()]
    return Reply(table(("No.", "Fact", "Forgotten"), rows) if rows else "No fact was forgotten in the last 30 days.")


def _line(stored: StoredFact) -> str:
    remark = f" *({STALE})*" if stored.is_stale else ""
    return f"- {stored.id}: {sign_of(stored)} {plain(stored.fact.content + author_remark(stored))}{remark}"


def _listed(rules: StandingRules) -> str:
    if not rules.whole.entries:
        return "There are no rules. `/pin TEXT` adds one."
    rows = [
        (
            str(entry.id),
            "ordinary text" if is_ordinary(rules, entry.id) else _STATES[entry.state],
            "pin" if entry.is_pin else "rule",
            entry.text,
        )
        for entry in rules.whole.entries
    ]
    return table(("Id", "State", "Kind", "Text"), rows)
