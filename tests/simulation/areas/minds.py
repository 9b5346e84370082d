"""Users who change their minds, in words and by commands: rules that end each other, and the facts made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.simulation.areas.chat import chat_about
from tests.simulation.areas.history import purge_those
from tests.simulation.kept_facts import KeptFacts
from tests.simulation.operations import Kind, Op, of_conversation
from tests.simulation.world import Request, World

from palimpsest.domain.context.rules.detection import detect
from palimpsest.domain.messages import ConversationId, MessageId, user_message
from palimpsest.services.context.rule_commands import RuleCommands
from palimpsest.services.folder.session import FolderSession
from palimpsest.storage.sql import execute

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

_SAID: Final = (
    "Always use tabs for indentation.",
    "Always use spaces for indentation, not tabs.",
    "Forget the rule about tabs.",
    "Always answer in German.",
    "Answer in French instead.",
    "Never push to main.",
    "You may push to main again.",
)


def _change(world: World, op: Op) -> None:
    word = f"zqword{op.number:04}u"
    chat_about(world, op, word, f"{op.chance('mind').choice(_SAID)} What about {word}?")


async def _forget(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    """A fact that was learned of what was said is forgotten, or restored."""
    keeper, kept = session.folder.facts.keeper, world.part(KeptFacts)
    if op.kind == "recall learned":
        if listed := await keeper.forgotten():
            kept.maybe_restored.add(chosen := listed[op.b % len(listed)].id)
            await keeper.restore(chosen)
        return
    if learned := [each for each in await keeper.all_facts() if each.evidence is not None]:
        known = learned[op.b % len(learned)]
        await keeper.forget(known.id)
        kept.forget(known)


async def _take_away(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    """What something rests on that was forgotten, or is known, is rolled back or purged."""
    found = await session.folder.store.read(_grounds)
    if not found:
        return
    owner, message_id = found[op.b % len(found)]
    if op.chance("away").random() < 0.5:
        await session.conversations.roll_back(owner, message_id)
    else:
        await purge_those(world, request, session, owner, (message_id, MessageId(message_id + 1)))


def _grounds() -> list[tuple[ConversationId, MessageId]]:
    """Of facts that were forgotten; of those that are known where there are none."""
    for table in ("forgotten", "fact"):
        query = f"SELECT conversation, message_id FROM {table} WHERE conversation IS NOT NULL ORDER BY fact, 1, 2"
        rows = execute(query if table == "forgotten" else query.replace("fact, ", "id, "))
        if found := [(ConversationId(owner), MessageId(at)) for owner, at in rows]:
            return found
    return []


async def _withdraw(world: World, request: Request, session: FolderSession, at: ConversationId, op: Op) -> None:
    pinning = RuleCommands(session.contexts)
    if said := [each for each in (await pinning.rules(at)).whole.open_entries() if not each.is_pin]:
        await pinning.withdraw(at, str(said[op.b % len(said)].id))


def look(world: World, oracle: Oracle) -> None:
    """When nothing is under way: what is gone closes nothing, and what was taken back by command is no fact."""
    view = oracle.view
    if not view.exists:
        return
    rows = {(row.owner, row.id): row for row in view.rows.values()}
    for owner, message_id, by_owner, by_message, by_fact_owner, by_fact_message in view.ask(
        "SELECT fact.conversation, fact.message_id, fact.closed_by_conversation, fact.closed_by_message, "
        "later.conversation, later.message_id FROM fact LEFT JOIN fact AS later ON later.id = fact.superseded_by "
        "WHERE fact.closed_at IS NOT NULL AND fact.conversation IS NOT NULL"
    ):
        if view.is_hidden(owner, message_id):
            continue
        closers = ((by_owner, by_message), (by_fact_owner, by_fact_message))
        if any(each is not None and view.is_hidden(each, at) for each, at in closers):
            world.problem("closed by what is hidden", f"the fact of message {message_id}")
    for owner, message_id in view.ask("SELECT conversation, message_id FROM forgotten WHERE conversation IS NOT NULL"):
        if (row := rows.get((owner, message_id))) is not None and row.is_purged:
            world.problem("kept of a purged message", f"a forgotten fact of message {message_id}")
    pinned = {text for (text,) in view.ask("SELECT text FROM pin WHERE is_open")}
    for owner, message_id, rule in view.ask("SELECT conversation, message_id, rule FROM withdrawal"):
        row = rows.get((owner, message_id))
        said = () if row is None or row.is_purged else detect(user_message(row.text))
        if rule >= len(said) or said[rule].text in pinned:
            continue
        if view.ask(
            "SELECT 1 FROM fact WHERE conversation = ? AND message_id = ? AND quote = ? AND closed_at IS NULL "
            "AND verified_at IS NULL AND fact_type IN ('constraint', 'decision')",
            *(owner, message_id, said[rule].text),
        ):
            world.problem("fact of a rule taken back", f"of message {message_id}")


KINDS: Final = {
    "change mind": Kind(16, _change),
    "forget learned": of_conversation(8, _forget),
    "recall learned": of_conversation(6, _forget),
    "take away": of_conversation(6, _take_away),
    "withdraw rule": of_conversation(6, _withdraw),
}
