"""A conversation that never ends: does it fit for ever, and how do summaries and times grow?

    python -m benchmarks.long_conversation [TURNS] [WINDOW]

Feeds made-up turns (seeded) through the real engine and store, prepares a request for each, and prints at every power
of ten: messages, summaries in the context, the fullest request so far, the share of prompt tokens in an unchanged
prefix, and the time of a prepare beside that of the first ten turns.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from palimpsest.data import load_frame, load_model_table
from palimpsest.domain.messages import Content, ConversationId, Role, TextPart, user_message
from palimpsest.domain.models.limits import with_window
from palimpsest.domain.settings.settings import Settings
from palimpsest.machine import utc_now
from palimpsest.services.background import Background
from palimpsest.services.context.engine import ContextEngine, always
from palimpsest.services.context.requests import Requests
from palimpsest.services.leases import Leases
from palimpsest.services.models.catalog import Models, with_override
from palimpsest.services.models.tokenizers import Tokenizers
from palimpsest.storage import leases
from palimpsest.storage.context import summary_tree
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.store import open_store

SEED = 20261121
WORDS = (
    "the pump parser reads a file and fails when value_{n} is empty in src/module_{n}.py because nobody checked it"
).split()


def sentence(chance: random.Random, n_words: int) -> str:
    return " ".join(chance.choice(WORDS).format(n=chance.randint(0, 999)) for _ in range(n_words)) + "."


async def run(n_turns: int, window: int) -> None:
    chance = random.Random(SEED)
    print(f"{n_turns} turns at a window of {window} tokens, seed {SEED}")
    print("   turns  messages  summaries  fullest  prefix   prepare, median of the last tenth")
    with tempfile.TemporaryDirectory() as directory:
        store = await open_store(Path(directory) / "store")
        settings = Settings()
        table = load_model_table()
        offline = table.find("offline")
        assert offline is not None
        models = with_override(Models(table, {}, {}, settings), with_window(offline, window))
        tokenizers = Tokenizers(Path(directory) / "vocabularies")
        engine = ContextEngine(
            Leases(store, Background()), models, tokenizers, settings.context, always(load_frame()), lambda _: None
        )
        conversation_id = ConversationId("long")
        await store.run(conversations.create, conversation_id, "long", "offline", utc_now())
        lease = await store.run(leases.acquire, store.writer(utc_now()), conversation_id, "a benchmark")
        writable = await engine.hold(lease)
        state, requests = writable.state, Requests(engine)
        fullest, prompt, unchanged = 0.0, 0, 0
        previous: list[object] = []
        times: list[float] = []
        for turn in range(1, n_turns + 1):
            rule = "Never use tabs. " if turn == 1 else ""
            for content in (
                user_message(rule + sentence(chance, chance.randint(5, 60))),
                Content(Role.ASSISTANT, (TextPart(sentence(chance, chance.randint(20, 300))),)),
            ):
                if content.role is Role.ASSISTANT:
                    started = time.perf_counter()
                    context = await requests.prepare(writable, state.budget.budget)
                    times.append((time.perf_counter() - started) * 1000)
                    fullest = max(fullest, context.upper_tokens / context.limit_tokens)
                    n_same = 0
                    for before, piece in zip(previous, state.pieces, strict=False):
                        if before != piece:
                            break
                        n_same += 1
                    prompt += sum(piece.tokens for piece in state.pieces)
                    unchanged += sum(piece.tokens for piece in state.pieces[:n_same])
                    previous = list(state.pieces)
                    assert any("Never use tabs." in message.text for message in context.messages)
                accepted = await engine.accept(state, [content])
                stored = await store.run(
                    message_log.append, conversation_id, [content], utc_now(), counts=accepted.counts
                )
                engine.appended(state, stored, accepted)
            if turn in (10, 100, 1_000, 10_000, n_turns):
                median = statistics.median(times[-max(turn // 10, 5) :])
                growth = median / statistics.median(times[:10])
                print(
                    f"{turn:8} {state.n_messages:9} {state.n_blocks:10} {fullest:8.1%} {unchanged / prompt:7.1%}"
                    f"   {median:.2f} ms, {growth:.1f} x the first ten; slowest {max(times):.0f} ms"
                )
        summaries = await store.read(summary_tree.read, conversation_id)
        deepest = max((summary.level for summary in summaries), default=0)
        print(f"{len(summaries)} summaries written, the highest of level {deepest}")
        await store.close()


def main(n_turns: int = 5_000, window: int = 16_000) -> None:
    asyncio.run(run(n_turns, window))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3]))
