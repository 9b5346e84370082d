"""The recorded session in the protocol's document is what the server does now, and it shows what it promises."""

from __future__ import annotations

import json

from dev.one_turn import record

from dev import ROOT


def test_playing_the_session_again_gives_the_recorded_messages() -> None:
    assert record() == (ROOT / "dev/one_turn.json").read_text("utf-8")


def test_the_session_shows_a_whole_turn() -> None:
    messages = [message for step in json.loads(record()) for _, message in step["messages"]]
    deltas = [m["params"]["value"]["type"] for m in messages if m.get("method") == "$/progress"]
    called = ["text", "toolCall", "toolArguments", "done", "toolStart", "toolResult"]
    assert deltas == ["turn", *called, "text", "text", "done"]
    methods = [message["method"] for message in messages if "method" in message]
    for method in ("palimpsest/approval/request", "workspace/applyEdit", "textDocument/publishDiagnostics"):
        assert methods.count(method) == 1
