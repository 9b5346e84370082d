"""Sessions of many shapes, replayed in small windows: no invariant breaks, what the user asked for stands in every
request, and a turn of 400 steps stays answerable.

The excerpts in `tests/data` are short; a session here is the same day of work over and over.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.services.scripted import Bench, Opener, says
from tests.slow import slow

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import Content, ConversationId, Role, user_message
from palimpsest.services.context.requests import Requests
from palimpsest.services.conversation.recordings import Recording, load_recording
from palimpsest.services.maintenance.replay import Replayer, ReplayReport, pairs_are_whole

DATA = Path(__file__).parents[2] / "data"
WINDOWS = [8_000, 16_000, 32_000]
SEED = 20
Line = dict[str, Any]


def lines_of(name: str) -> list[Line]:
    """The messages of an excerpt; a result `{{huge:KIND}}` becomes a line as it says."""
    text = (DATA / f"{name}.jsonl").read_text(encoding="utf-8")
    messages = [json.loads(line) for line in text.split("\n") if line]
    assert "meta" in messages[0]
    return [line | {"content": HUGE.get(line["content"], line["content"])} for line in messages[1:]]


def huge_json() -> str:
    """A file of one line, as a program writes it."""
    rows = [
        {"倉庫": ("名古屋", "大阪", "福岡")[n % 3], "品番": f"A-{n:05}", "個数": n * 24 % 977} for n in range(1_000)
    ]
    return json.dumps(rows, ensure_ascii=False)


HUGE = {"{{huge:json}}": huge_json(), "{{huge:dots}}": "." * 50_000 + "✓ 全テスト合格 🎉"}


def repeated(lines: list[Line], times: int) -> Iterator[Line]:
    """The same work `times` over, each with call ids of its own and its number in what the user says."""
    for n in range(times):
        for line in lines:
            calls = [
                call | ({"id": f"{n}-{call['id']}"} if "id" in call else {}) for call in line.get("tool_calls", ())
            ]
            changes: Line = {"tool_calls": calls} if calls else {}
            if "tool_call_id" in line:
                changes["tool_call_id"] = f"{n}-{line['tool_call_id']}"
            if line["role"] == "user":
                changes["content"] = f"{line['content']} (day {n})"
            yield line | changes


def one_turn(n_steps: int) -> Iterator[Line]:
    """One request, and the steps an agent takes for it: mostly small results, now and then a large one."""
    chance = random.Random(SEED)
    yield {
        "role": "user",
        "content": "Move every module from asyncore to asyncio. Never use threads. Tell me at the end.",
    }
    for n in range(n_steps):
        path = f"src/net/handler_{n % 60}.py"
        name, arguments = chance.choice(
            [
                ("read_file", {"path": path}),
                ("edit_file", {"path": path, "old": f"dispatch_{n}", "new": f"await run_{n}"}),
                ("run", {"command": f"python -m pytest -q tests/net/test_handler_{n % 60}.py"}),
            ]
        )
        text = f"Step {n}: {path} still imports asyncore." if chance.random() < 0.5 else ""
        call = {"id": f"s{n}", "name": name, "arguments": arguments}
        yield {"role": "assistant", "content": text, "tool_calls": [call]}
        n_lines = chance.choice([2, 5, 10, 20, 40, 160])
        body = "\n".join(f"{path}:{i}: handler_{n}_{i}.handle_read()" for i in range(n_lines))
        failed = f"\nFAILED {path}: error: timeout_{n} after {n} ms" if chance.random() < 0.2 else ""
        yield {"role": "tool", "tool_call_id": f"s{n}", "content": body + failed}


def record(path: Path, lines: Iterator[Line]) -> Recording:
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines), encoding="utf-8")
    return load_recording(path)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[PreparedContext]:
    """Every request that is prepared, as it comes out of the engine."""
    seen: list[PreparedContext] = []
    prepare = Requests.prepare

    async def watched(*arguments: Any, **options: Any) -> PreparedContext:
        seen.append(await prepare(*arguments, **options))
        return seen[-1]

    monkeypatch.setattr(Requests, "prepare", watched)
    return seen


def asked(recording: Recording) -> Iterator[Content]:
    """For each request of a replay, what the user had said last."""
    said = user_message("")
    for step in recording.steps:
        if step[0].role is Role.USER:
            said = step[0]
        else:
            yield said


async def replay(b: Bench, name: str, recording: Recording) -> ReplayReport:
    """Replays into the bench's store; the bench then goes on with that conversation."""
    replayer = Replayer(b.store, b.session.contexts)
    report = await replayer.replay(Path(f"{name}.jsonl"), recording, "offline")
    b.conversation_id = ConversationId(f"replay-{name}")
    return report


def assert_sound(report: ReplayReport, requests: list[PreparedContext], recording: Recording) -> None:
    assert report.violations == []
    assert report.is_verified
    assert report.n_messages == sum(len(step) for step in recording.steps)
    assert report.n_requests == len(requests)
    for said, context in zip(asked(recording), requests, strict=True):
        assert said in context.messages, "the user's request is not there verbatim"
        assert context.upper_tokens <= context.limit_tokens
        assert pairs_are_whole(context.messages)


@pytest.mark.parametrize("window", [WINDOWS[0], *(slow(each) for each in WINDOWS[1:])])
@pytest.mark.parametrize(
    ("name", "times", "n_mended"), [("parallel_calls", 12, 0), ("console_without_ids", 12, 24), ("wide_text", 4, 0)]
)
async def test_an_excerpt_replays_without_a_broken_invariant(
    bench: Opener, requests: list[PreparedContext], tmp_path: Path, window: int, name: str, times: int, n_mended: int
) -> None:
    b = await bench([], window=window, reserve=1_000)
    recording = record(tmp_path / "x.jsonl", repeated(lines_of(name), times))
    report = await replay(b, name, recording)
    assert_sound(report, requests, recording)
    assert report.n_mended == n_mended
    assert report.tokens > 8_000
    b.provider.replies = [says("As I said.")]
    assert await b.ask("What did you do first?") == "committed"


async def test_parallel_results_answer_their_calls_in_whatever_order_they_came(tmp_path: Path) -> None:
    recording = record(tmp_path / "x.jsonl", repeated(lines_of("parallel_calls"), 1))
    batches = [step for step in recording.steps if len(step) > 2]
    assert [len(step) - 1 for step in batches] == [4, 2, 3, 2, 2]
    for calling, *results in batches:
        assert {call.call_id for call in calling.calls} == {r.call_id for each in results for r in each.results}
    assert [each.results[0].call_id for each in batches[0][1:]] == ["0-p1", "0-p3", "0-p4", "0-p2"]


async def test_every_character_of_wide_text_is_kept(bench: Opener, tmp_path: Path) -> None:
    """CJK, right-to-left text, joined emoji and a line separator; and lines of 50,000 characters."""
    b = await bench([], window=8_000, reserve=1_000)
    lines = lines_of("wide_text")
    await replay(b, "wide_text", record(tmp_path / "x.jsonl", repeated(lines, 1)))
    said = [text.removesuffix(" (day 0)") for _, text, _ in await b.said()]
    assert said == [line["content"] for line in lines]
    assert max(len(text) for text in said) > 50_000
    assert any("\u2028" in text and "📈" in text for text in said)


@pytest.mark.parametrize(
    ("window", "n_steps"),
    [
        slow(8_000, 400),
        (16_000, 120),
        slow(32_000, 120),
    ],
)
async def test_a_turn_of_hundreds_of_steps_stays_answerable(
    bench: Opener, requests: list[PreparedContext], tmp_path: Path, window: int, n_steps: int
) -> None:
    print(f"seed {SEED}")  # noqa: T201
    b = await bench([], window=window, reserve=1_000)
    recording = record(tmp_path / "x.jsonl", one_turn(n_steps))
    report = await replay(b, "one_turn", recording)
    assert_sound(report, requests, recording)
    assert report.n_requests == n_steps
    assert report.tokens > 2 * window
    assert report.compactions.keys() == {"threshold"}
    b.provider.replies = [says("Every module is moved.")]
    assert await b.ask("And, are you done?") == "committed"
    final = b.provider.seen[-1]
    assert final.upper_tokens <= final.limit_tokens
    assert final.messages[-1].text == "And, are you done?"
    assert any("Never use threads." in message.text for message in final.messages)
    assert (await b.session.conversations.read(b.conversation_id, 0, 1)).record.n_messages == 1 + 2 * n_steps + 2
