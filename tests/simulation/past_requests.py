"""What a model was sent can be shown again: whatever was done since, each request comes out of the store as the service
got it, unless its words were purged or forgotten."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from peewee import SqliteDatabase
from tests.simulation.store_view import StoreView
from tests.simulation.world import World

from palimpsest.data import load_model_table
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import ConversationId
from palimpsest.domain.settings.settings import Settings
from palimpsest.services.context.past_requests import check, read_requests
from palimpsest.services.models.catalog import Models
from palimpsest.storage.conversation.pending_work import Kind
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.sql import bind_thread
from palimpsest.storage.turns.sent_requests import StepRecord

if TYPE_CHECKING:
    from tests.simulation.oracle import Oracle

_MODELS: Final = Models(load_model_table(), {}, {}, Settings())


def sent(world: World, view: StoreView, context: PreparedContext) -> None:
    """A request of a turn is stored, with the digest of what the service got, before the service gets it."""
    conversation_id = context.conversation_id
    if not view.ask("SELECT 1 FROM conversation WHERE id = ?", conversation_id):
        return  # it is of another folder
    query = """SELECT 1 FROM sent_request JOIN step ON step.id = step JOIN turn ON turn.id = step.turn
        WHERE digest = ? AND conversation = ? LIMIT 1"""
    if not view.ask(query, _digest(context), conversation_id):
        world.problem("request not stored", f"{len(context.messages)} messages")


def _digest(context: PreparedContext) -> str:
    """The digest, as the documents define it."""
    tools = [{"name": t.name, "description": t.description, "parameters": t.parameters} for t in context.tools]
    values: list[Any] = [{"system": context.system}, {"tools": tools}, *(each.to_json() for each in context.messages)]
    texts = [json.dumps(each, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n" for each in values]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


@contextmanager
def _reading(directory: Path) -> Iterator[None]:
    """The store, read on this thread."""
    path = directory / DATABASE_NAME
    database = SqliteDatabase(f"{path.as_uri()}?mode=ro", uri=True, pragmas={"query_only": 1})
    bind_thread(database)
    with closing(database), database.atomic():
        yield


def end(world: World, oracle: Oracle) -> None:
    if not world.conversations:
        return
    with _reading(oracle.view.directory):
        for (conversation_id,) in oracle.view.ask("SELECT id FROM conversation"):
            _look(world, oracle, ConversationId(conversation_id))


def _look(world: World, oracle: Oracle, conversation_id: ConversationId) -> None:
    steps, words = read_requests(conversation_id)
    done = check(conversation_id, steps, words, _MODELS)
    for step in done.differing:
        world.problem("request comes out otherwise", _shape(step))
    if done.n_unknown and not _has_moved(world, oracle):
        world.problem("request not stored", f"{done.n_unknown} of {done.n_requests}")
    gone = [clause for _, clause in done.gone]
    if gone and not _may_be_gone(world, oracle):
        world.problem("request cannot be shown", gone[0])
    purged = {row.id for row in oracle.view.messages_of(conversation_id) if row.is_purged}
    for step in steps:
        if step.request is None:  # its messages have moved apart
            continue
        is_purged = bool(purged.intersection(step.request.outline.message_ids))
        if is_purged and step not in [each for each, _ in done.gone]:
            world.problem("purged request shown", _shape(step))


def _has_moved(world: World, oracle: Oracle) -> bool:
    """Whether messages may have moved apart: of the turns that said them, no request is kept."""
    return len(world.homes) > 1 and bool(oracle.view.copies)


def _may_be_gone(world: World, oracle: Oracle) -> bool:
    """Whether anything was purged or forgotten: that takes what quotes it with it, in every conversation."""
    if world.kinds & {"forget", "clear"} or oracle.view.ask("SELECT 1 FROM forgotten_fact LIMIT 1"):
        return True
    if oracle.view.ask("SELECT 1 FROM pending_work WHERE kind = ?", Kind.PURGE.value):  # nobody reads them any more
        return True
    return any(row.is_purged for row in oracle.view.rows.values())


def _shape(step: StepRecord) -> str:
    """The kinds of its entries."""
    assert step.request is not None
    outline = step.request.outline
    kinds = " ".join(type(entry).__name__.removesuffix("Entry") for entry in outline.entries)
    return f"step {step.number}: {'front ' * outline.has_front}{kinds}{' going on' * bool(outline.behind)}"
