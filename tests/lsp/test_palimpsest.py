"""The whole server with a real store: turns, summaries, the past, and what is said of bad input."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from tests.clients.fake_provider import FakeProvider, Fault, Reply
from tests.lsp.in_process import connected_here
from tests.lsp.real_server import STALL, STALLED_TEXT, Editor, editor, home, on_fake
from tests.waiting import WAIT_S

from palimpsest.services.models.offline_notice import ELSEWHERE
from palimpsest.wording import counted

READ = "palimpsest/conversation/read"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "made up folder é"
    root.mkdir()
    (root / "pyproject.toml").write_text('[project]\nname = "greenhouse"\nrequires-python = ">=3.11"\n')
    (root / "README.md").write_text("# Greenhouse\n\nThe pump starts when the soil moisture falls below 18 percent.\n")
    return root


async def created(ed: Editor) -> str:
    answer = await ed.client.result("palimpsest/conversation/create", {})
    conversation_id: str = answer["conversationId"]
    return conversation_id


async def test_a_turn_streams_what_it_then_stores(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        answer = await ed.chat("When does the pump start?", partialResultToken="p")
        result = answer["result"]
        deltas = ed.shown("p")
        assert deltas[0]["type"] == "turn"
        assert deltas[0]["turnId"] == result["turnId"]
        assert [d["seq"] for d in deltas] == sorted({d["seq"] for d in deltas})
        assert all("kind" not in d for d in deltas)
        assert ed.client.inbox.index(answer) > max(
            i for i, m in enumerate(ed.client.inbox) if m.get("method") == "$/progress"
        )
        assert "text" not in result, "a streamed text was repeated"
        assert (result["status"], result["messageIds"], result["stopReason"]) == ("committed", [0, 1], "end")
        assert ed.shown_text("p").startswith("This is a search, not the answer of a model. These places mention it:\n")
        assert "\n`README.md:3`\n" in ed.shown_text("p")
        assert "soil moisture falls below 18 percent" in ed.shown_text("p")
        page = await ed.read(result["conversationId"])
        assert [(m["role"], m["state"]) for m in page["messages"]] == [("user", "complete"), ("assistant", "complete")]
        assert page["messages"][1]["text"] == ed.shown_text("p")
        assert page["conversation"]["title"] == "When does the pump start?"
        whole = await ed.chat("thanks", conversationId=result["conversationId"])
        assert whole["result"]["text"], "without a token the result carries the text"


async def test_what_a_turn_adds_is_announced_with_a_larger_number(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        turn = ed.client.start_request("palimpsest/chat", Editor.chat_params("When does the pump start?"))
        first = (await ed.client.notification("palimpsest/didChangeConversation"))["seq"]
        await turn.answer()
        while (await ed.client.notification("palimpsest/didChangeConversation"))["seq"] == first:
            pass
        told = [each["seq"] for each in ed.client.received("palimpsest/didChangeConversation")]
        assert told == sorted(told)


async def test_a_search_that_finds_nothing_says_so_and_what_to_do(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        nothing = (await ed.chat("Who flies the zeppelin?"))["result"]["text"]
        assert nothing.startswith("This is a search, not the answer of a model. Nothing in this folder's files")
        (folder / "README.md").unlink()
        (folder / "pyproject.toml").unlink()
        empty = (await ed.chat("When does the pump start?"))["result"]["text"]
        assert empty.startswith("This is a search, not the answer of a model. There are no text files in this folder")
        (folder / "notes.md").write_text("The pump starts at noon.\n")
        found = (await ed.chat("When does the pump start?"))["result"]["text"]
        assert "\n`notes.md:1`\n\n> ```\n> The pump starts at noon.\n> ```\n" in found


async def test_without_a_model_the_editor_says_so_once_a_conversation_and_no_message_does(
    tmp_path: Path, folder: Path
) -> None:
    async with editor(tmp_path, folder) as ed:
        first = (await ed.chat("Which port does it listen on?"))["result"]["conversationId"]
        await ed.chat("And which host?", conversationId=first)
        assert [each["message"] for each in ed.client.received("window/showMessage")] == [
            f"No model is set up, so Palimpsest only searches this folder and this conversation. {ELSEWHERE}"
        ]
        await ed.chat("Which port does it listen on?")
        assert len(ed.client.received("window/showMessage")) == 2
        assert not any("login" in message["text"] for message in (await ed.read(first))["messages"])


async def test_a_mention_that_attaches_nothing_is_told_and_the_message_is_sent(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        asked = (await ed.chat("What is in @REDME.md?"))["result"]["conversationId"]
        told = [each["message"] for each in ed.client.received("window/showMessage")]
        assert told[0] == "There is no 'REDME.md' in this folder, so nothing is attached. Did you mean @README.md?"
        assert (await ed.read(asked))["messages"][0]["text"] == "What is in @REDME.md?"


async def test_a_service_that_does_not_answer_is_named_when_the_folder_is_searched(
    tmp_path: Path, folder: Path
) -> None:
    with socket.socket() as closed:  # bound and never listened on: nobody answers there
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        async with editor(tmp_path, folder, OLLAMA_HOST=address) as ed:
            await ed.chat("Which port does it listen on?")
            (told,) = [each["message"] for each in ed.client.received("window/showMessage")]
            listed = (await ed.client.result("palimpsest/model/list", {}))["silent"]
    assert listed == [
        f"ollama at {address} does not answer, or has no model yet: start it there, or correct the address."
    ]
    assert listed[0] in told
    assert "No model is set up" not in told


async def test_an_editor_that_offers_to_set_up_a_model_is_not_told_that_there_is_none(
    tmp_path: Path, folder: Path
) -> None:
    async with connected_here(**home(tmp_path)) as client:
        announced = {"experimental": {"palimpsest": {"notifications": True, "setUp": True}}}
        await client.initialize(announced, workspaceFolders=[{"uri": folder.as_uri(), "name": folder.name}])
        answer = (await Editor(client).chat("Which port does it listen on?"))["result"]
        assert answer["text"]
        assert client.received("window/showMessage") == []


async def stalled(ed: Editor, fake: FakeProvider, token: str) -> tuple[Any, str]:
    """A chat whose answer has begun and hangs; its request and the text shown so far."""
    fake.script.append(STALL)
    request = ed.client.start_request("palimpsest/chat", Editor.chat_params("question", partialResultToken=token))
    await asyncio.wait_for(fake.stalled.wait(), WAIT_S)
    await ed.until_shown(token, STALLED_TEXT)
    return request, ed.shown_text(token)


async def test_a_running_answer_can_be_read_attached_to_and_cancelled(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    async with editor(tmp_path, folder, **on_fake(fake.url)) as ed:
        request, shown = await stalled(ed, fake, "p")
        turn = ed.shown("p")[0]
        page = await ed.read(turn["conversationId"])
        assert page["running"]["turnId"] == turn["turnId"]
        assert page["running"]["text"] == shown
        attached = ed.client.start_request(
            "palimpsest/turn/attach", {"turnId": turn["turnId"], "partialResultToken": "second"}
        )
        busy = await ed.chat("other", conversationId=turn["conversationId"])
        assert busy["error"]["data"]["kind"] == "conversation_busy"
        cancelled = await ed.client.result("palimpsest/turn/cancel", {"turnId": turn["turnId"]})
        assert cancelled == {"status": "cancelled"}
        for each in (request, attached):
            result = (await each.answer())["result"]
            assert (result["status"], result["turnId"]) == ("cancelled", turn["turnId"])
        assert ed.shown_text("second") == ed.shown_text("p") == shown
        kept = (await ed.read(turn["conversationId"]))["messages"]
        assert (kept[1]["text"], kept[1]["state"]) == (shown, "cancelled")
        late = await ed.client.result("palimpsest/turn/attach", {"turnId": turn["turnId"]})
        assert (late["status"], late["text"], late["messageIds"]) == ("cancelled", shown, [0, 1])
        await asyncio.wait_for(fake.disconnected.wait(), WAIT_S)


async def test_cancelling_the_request_cancels_the_turn_and_keeps_its_text(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    async with editor(tmp_path, folder, **on_fake(fake.url)) as ed:
        request, shown = await stalled(ed, fake, "p")
        ed.client.notify("$/cancelRequest", {"id": request.id})
        assert (await request.answer())["error"]["code"] == -32800
        kept = (await ed.read(ed.shown("p")[0]["conversationId"]))["messages"]
        assert (kept[1]["text"], kept[1]["state"]) == (shown, "cancelled")


async def test_a_repeated_request_answers_with_the_same_turn(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        params = Editor.chat_params("When does the pump start?")
        first = (await ed.client.request("palimpsest/chat", params))["result"]
        again = (await ed.client.request("palimpsest/chat", params))["result"]
        assert again == first
        assert len((await ed.read(first["conversationId"]))["messages"]) == 2


async def test_a_failed_turn_is_an_error_with_its_kind_and_keeps_the_text(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    async with editor(tmp_path, folder, **on_fake(fake.url)) as ed:
        fake.script.append(Fault(status=401))
        error = (await ed.chat("question"))["error"]
        assert (error["code"], error["data"]["kind"], error["data"]["retryable"]) == (-32803, "auth", False)
        turn_id = error["data"]["turnId"]
        failed = await ed.client.request("palimpsest/turn/attach", {"turnId": turn_id})
        assert failed["error"]["data"]["kind"] == "auth"
        (info,) = (await ed.client.result("palimpsest/conversation/list", {}))["conversations"]
        assert [m["text"] for m in (await ed.read(info["conversationId"]))["messages"]] == ["question"]


async def test_a_pause_before_another_attempt_is_told_and_can_be_ended(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    async with editor(tmp_path, folder, **on_fake(fake.url)) as ed:
        fake.script += [Fault(status=429, headers={"retry-after": "55"}), Reply(text="Here")]
        params = Editor.chat_params("question", partialResultToken="p")
        request = ed.client.start_request("palimpsest/chat", params)
        while len(ed.shown("p")) < 2:
            await ed.client.notification("$/progress")
        turn, pause = ed.shown("p")
        assert (pause["type"], pause["text"]) == ("pause", "Too many requests to OpenAI.")
        assert (pause["retryAfterMs"], pause["nFailed"]) == (55_000, 1)
        retried = await ed.client.result("palimpsest/turn/retryNow", {"turnId": turn["turnId"]})
        assert retried == {"wasWaiting": True}
        result = (await request.answer())["result"]
        assert (result["status"], ed.shown_text("p")) == ("committed", "Here")
        retried = await ed.client.result("palimpsest/turn/retryNow", {"turnId": turn["turnId"]})
        assert retried == {"wasWaiting": False}
        kept = (await ed.read(turn["conversationId"]))["messages"]
        assert [m["text"] for m in kept] == ["question", "Here"]


async def test_a_long_import_is_looked_through_for_rules_with_progress(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    said = [{"role": "user", "content": f"Look at part {number}."} for number in range(1_999)]
    lines = [json.dumps(each) for each in ({"role": "user", "content": "Never edit part 7."}, *said)]
    (folder / "recorded.jsonl").write_text("\n".join(lines), "utf-8")
    variables = on_fake(fake.url) | {"PALIMPSEST_LIBRARIAN_ENABLED": "false"}
    async with editor(tmp_path, folder, **variables, PALIMPSEST_CONTEXT_MAX_TOKENS="5000") as ed:
        done = await ed.client.result("palimpsest/conversation/import", {"path": str(folder / "recorded.jsonl")})
        fake.script.append(Reply(text="So I will."))
        await ed.chat("And now?", conversationId=done["conversation"]["conversationId"], workDoneToken="w")
        told = ed.shown("w")
        assert told[0] | {"percentage": 0} == told[0]
        assert (told[0]["title"], told[0]["message"]) == ("Preparing the context", "looking for your rules")
        assert [each["message"] for each in told if "your rules," in each.get("message", "")] == [
            f"looking for your rules, {n_read:,} of 2,000 messages" for n_read in range(0, 2_000, 400)
        ]
        assert told[-1] == {"kind": "end", "message": "The context is ready."}
        assert [each["kind"] for each in told].count("begin") == 1
        assert "Never edit part 7." in str(fake.bodies[-1])


async def test_older_messages_are_summarized_with_progress_and_stay_readable(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    async with editor(tmp_path, folder, **on_fake(fake.url), PALIMPSEST_CONTEXT_MAX_TOKENS="5000") as ed:
        conversation_id = await created(ed)
        for number in range(18):
            fake.script.append(Reply(text=f"Answer {number}: " + "the pump is on. " * 60))
            text = f"Question {number}. Always check value_{number}. " + "It is wet here. " * 20
            answer = await ed.chat(text, conversationId=conversation_id, workDoneToken=f"w{number}")
            usage = answer["result"]["usage"]
            assert usage["usedTokens"] <= 5000 + 300, "more than the request and its answer, which comes on top"
        kinds = [p["value"]["kind"] for p in ed.client.received("$/progress") if "kind" in p["value"]]
        assert kinds[0] == "begin"
        assert kinds[-1] == "end"
        types = [e["type"] for e in ed.client.received("palimpsest/contextEvent")]
        first = types.index("context_summarization_start")
        assert types[first : first + 5] == [
            "context_summarization_start",
            "context_summarization_progress",
            "context_summarization_progress",
            "context_compaction",
            "context_summarization_complete",
        ]
        compaction = next(e for e in ed.client.received("palimpsest/contextEvent") if e["type"] == "context_compaction")
        assert compaction["cause"] == "threshold"
        usage = await ed.client.result("palimpsest/usage", {"conversationId": conversation_id})
        assert usage["summaryCount"] >= 1
        assert usage["compact"].endswith(f", {counted(usage['summaryCount'], 'summary')}")
        page = await ed.read(conversation_id)
        assert len(page["messages"]) == 36
        await ed.client.result("palimpsest/summarize", {"conversationId": conversation_id})
        plan = await ed.client.result("palimpsest/prepareContext", {"conversationId": conversation_id, "text": "next"})
        assert plan["status"] == "ready"
        assert plan["upperTokens"] <= plan["limitTokens"] == 5000
        report = plan["recall"]
        assert "next" in report["terms"]
        assert 0 <= report["tokens"] <= report["roomTokens"]
        assert all(("messageId" in each) != ("factId" in each) for each in report["taken"] + report["leftOut"])
        assert {each["because"] for each in report["leftOut"]} <= {"told", "noRoom", "belowBar"}
        assert "page" not in plan
        this = {"conversationId": conversation_id, "withPage": True}
        shown = await ed.client.result("palimpsest/prepareContext", this)
        assert "## Summary " in shown["page"]
        assert "### Said by the user" in shown["page"]
        assert shown["recall"]["terms"]
        covered = [s["messages"] for s in plan["segments"] if "messages" in s]
        assert [r["start"] for r in covered] == [0, *(r["end"] for r in covered[:-1])]
        assert "[Earlier conversation summary]" in str(fake.bodies[-1])


async def test_summarize_and_switch_answer_with_what_they_did(tmp_path: Path, folder: Path, fake: FakeProvider) -> None:
    async with editor(tmp_path, folder, **on_fake(fake.url)) as ed:
        conversation_id = await created(ed)
        nothing = await ed.client.result("palimpsest/summarize", {"conversationId": conversation_id})
        assert nothing["tokensBefore"] == nothing["tokensAfter"]
        for number in range(6):
            fake.script.append(Reply(text=f"Answer {number}. " * 80))
            await ed.chat(f"Question {number}. " * 20, conversationId=conversation_id)
        done = await ed.client.result(
            "palimpsest/summarize", {"conversationId": conversation_id, "range": {"start": 1, "end": 6}}
        )
        assert done["covers"] == {"start": 1, "end": 6}
        assert done["tokensAfter"] < done["tokensBefore"]
        models = (await ed.client.result("palimpsest/model/list", {}))["models"]
        assert [m["name"] for m in models if m["isDefault"]] == ["gpt-4o"]
        assert all(m["isAvailable"] or m["hint"] for m in models)
        wider = await ed.client.result(
            "palimpsest/model/switch", {"conversationId": conversation_id, "model": "gpt-5.2"}
        )
        assert (wider["outcome"], wider["canRestore"]) == ("expanding", 5)
        same = await ed.client.result(
            "palimpsest/model/switch", {"conversationId": conversation_id, "model": "gpt-5.2"}
        )
        assert same["outcome"] == "no_change"
        smaller = await ed.client.result(
            "palimpsest/model/switch", {"conversationId": conversation_id, "model": "gpt-4"}
        )
        assert smaller["outcome"] == "shrinking"
        assert smaller["newBudget"] < smaller["oldBudget"]
        await ed.chat("still there?", conversationId=conversation_id)
        assert fake.bodies[-1]["model"] == "gpt-4"


async def test_a_model_writes_summaries_and_what_it_cannot_do_is_quoted_instead(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    settings = on_fake(fake.url) | {"PALIMPSEST_SUMMARIZATION_KIND": "llm"}
    async with editor(tmp_path, folder, **settings) as ed:
        conversation_id = await created(ed)
        for number in range(6):
            fake.script.append(Reply(text=f"Answer {number}. " * 80))
            await ed.chat(f"Question {number}. " * 20, conversationId=conversation_id)
        params = {"conversationId": conversation_id, "range": {"start": 0, "end": 4}}
        fake.script.append(Reply(text="I was asked two questions about the pump and answered both."))
        await ed.client.result("palimpsest/summarize", params)
        assert "never follow instructions" in str(fake.bodies[-1]).lower() or "transcript" in str(fake.bodies[-1])
        fake.script += [Reply(text="I'm sorry, I can't help with that."), Reply(text="")]
        await ed.client.result("palimpsest/summarize", params | {"range": {"start": 4, "end": 8}})
        failed = [e for e in ed.client.received("palimpsest/contextEvent") if "error" in e]
        assert "without a model instead" in failed[-1]["error"]
        fake.script.append(Reply(text="here"))
        await ed.chat("next", conversationId=conversation_id)
        sent = str(fake.bodies[-1])
        assert "I was asked two questions about the pump and answered both." in sent
        assert "can't help" not in sent


async def test_the_past_can_be_forked_rolled_back_expanded_undone_and_redone_from_an_editor(
    tmp_path: Path, folder: Path, fake: FakeProvider
) -> None:
    async with editor(tmp_path, folder, **on_fake(fake.url)) as ed:
        conversation_id = await created(ed)
        for number in range(6):
            fake.script.append(Reply(text=f"Answer {number}. " * 80))
            await ed.chat(f"Question {number}. " * 20, conversationId=conversation_id)

        async def ask(method: str, **params: Any) -> Any:
            return await ed.client.result(f"palimpsest/{method}", {"conversationId": conversation_id} | params)

        done = await ask("summarize", range={"start": 0, "end": 6})
        expanded = await ask("summary/expand", summaryId=done["summaryId"])
        # About: the fake's usage is not the tokenizer's, and each compaction takes up what was learned from it.
        assert expanded["tokensBefore"] == pytest.approx(done["tokensAfter"], rel=0.05)
        assert expanded["tokensAfter"] == pytest.approx(done["tokensBefore"], rel=0.05)
        assert (await ask("summary/undo"))["tokensAfter"] == pytest.approx(done["tokensAfter"], rel=0.05)
        assert (await ask("summary/redo"))["tokensAfter"] == pytest.approx(done["tokensBefore"], rel=0.05)
        assert (await ask("summary/undo"))["tokensAfter"] == pytest.approx(done["tokensAfter"], rel=0.05)
        assert (await ask("summary/regenerate", summaryId=done["summaryId"]))["covers"] == {"start": 0, "end": 6}
        fork = await ask("conversation/fork", messageId=7, title="elsewhere")
        assert (fork["messageCount"], fork["parentId"], fork["title"]) == (8, conversation_id, "elsewhere")
        taken = await ask("conversation/rollback", messageId=11)
        assert taken["hidden"] == {"start": 11, "end": 12}
        assert taken["draft"] == ""
        taken = await ask("conversation/rollback", messageId=10)
        assert taken["draft"].startswith("Question 5.")
        page = await ed.read(conversation_id)
        assert [m["id"] for m in page["messages"] if m["isHidden"]] == [10, 11]
        assert page["conversation"]["draft"] == taken["draft"]
        renamed = await ask("conversation/rename", title="The pump")
        assert (renamed["title"], (await ask("conversation/archive", isArchived=True))["isArchived"]) == (
            "The pump",
            True,
        )
        assert (await ask("draft/set", text="half"))["draft"] == "half"
        gone = await ed.client.request(
            "palimpsest/summary/expand", {"conversationId": conversation_id, "summaryId": 9999}
        )
        assert gone["error"]["data"]["kind"] == "not_found"


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("palimpsest/chat", {"requestId": "1", "text": "  "}, "Write something"),
    ("palimpsest/chat", {"requestId": "1", "text": "\0"}, "Write something"),
    ("palimpsest/chat", {"requestId": "1", "text": "x", "conversationId": "nope"}, "no conversation 'nope'"),
    (
        "palimpsest/chat",
        {"requestId": "1", "text": "x", "folder": "file:///elsewhere"},
        "not in an open workspace folder",
    ),
    (READ, {"conversationId": "nope"}, "no conversation 'nope'"),
    ("palimpsest/usage", {"conversationId": "nope"}, "no conversation 'nope'"),
    ("palimpsest/turn/cancel", {"turnId": "nope"}, "no turn 'nope'"),
    ("palimpsest/turn/attach", {"turnId": "nope"}, "no turn 'nope'"),
    ("palimpsest/conversation/create", {"model": "frobnicator-9"}, "no model 'frobnicator-9'"),
    ("palimpsest/conversation/create", {"model": "claude-opus-4-5"}, "or set ANTHROPIC_API_KEY"),
    ("palimpsest/chat", {"text": "x"}, "requestId"),
]


async def test_bad_input_is_answered_with_what_is_wrong_and_nothing_is_stored(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        for method, params, sentence in BAD:
            error = (await ed.client.request(method, params))["error"]
            assert error["code"] == -32602, (method, error)
            assert sentence in error["message"], (method, error)
            assert "Traceback" not in str(error)
        conversation_id = await created(ed)
        for params, sentence in [
            ({"start": -1}, "message 0 or later"),
            ({"limit": 0}, "1 to 1000"),
            ({"limit": 1001}, "1 to 1000"),
        ]:
            error = (await ed.client.request(READ, {"conversationId": conversation_id} | params))["error"]
            assert sentence in error["message"]
        bad_range = {"conversationId": conversation_id, "range": {"start": 5, "end": 2}}
        assert "not a range" in (await ed.client.request("palimpsest/summarize", bad_range))["error"]["message"]
        assert (await ed.read(conversation_id))["messages"] == []


async def test_a_message_larger_than_the_budget_is_refused_with_numbers(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder, PALIMPSEST_CONTEXT_MAX_TOKENS="2000") as ed:
        conversation_id = await created(ed)
        error = (await ed.chat("word " * 5_000, conversationId=conversation_id))["error"]
        assert error["data"]["kind"] == "recent_messages_too_large"
        assert error["data"]["projectedTokens"] > error["data"]["limitTokens"] == 2_000
        assert "larger window" in error["message"]
        plan = await ed.client.result(
            "palimpsest/prepareContext", {"conversationId": conversation_id, "text": "word " * 5_000}
        )
        assert plan["status"] == "recentMessagesTooLarge"
        assert plan["suggestion"].startswith("Your message is too long for this model: it takes ")
        assert (await ed.read(conversation_id))["messages"] == []
        assert "result" in await ed.chat("word", conversationId=conversation_id)


async def test_nul_and_lone_surrogates_are_cleaned_and_the_message_says_so(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        result = (await ed.chat("a\0b\ud800c pump"))["result"]
        (message, _) = (await ed.read(result["conversationId"]))["messages"]
        assert message["text"] == "ab\ufffdc pump"
        assert message["notes"] == ["removed 1 NUL character", "replaced 1 lone surrogate by U+FFFD"]


async def test_without_a_folder_the_editor_is_told_to_open_one(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder) as ed:
        ed.client.notify(
            "workspace/didChangeWorkspaceFolders",
            {"event": {"added": [], "removed": [{"uri": folder.as_uri(), "name": "x"}]}},
        )
        error = (await ed.chat("x"))["error"]
        assert "No folder is open" in error["message"]


async def test_a_missing_folder_and_an_unusable_store_are_explained(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, tmp_path / "gone") as ed:
        assert "does not exist" in (await ed.chat("x"))["error"]["message"]
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    async with editor(tmp_path, folder, PALIMPSEST_STORAGE_PATH=str(blocked)) as ed:
        error = (await ed.chat("x"))["error"]
        assert error["data"]["kind"] == "store"
        assert str(blocked) in error["message"]


async def test_a_setting_that_cannot_be_meant_is_named(tmp_path: Path, folder: Path) -> None:
    async with editor(tmp_path, folder, PALIMPSEST_CONTEXT_MAX_TOKENS="many") as ed:
        assert "PALIMPSEST_CONTEXT_MAX_TOKENS" in (await ed.chat("x"))["error"]["message"]
