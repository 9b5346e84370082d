"""A slash command is told from a message, a wrong one is answered with what comes near, and each answers in Markdown
what the request of its own would answer in values, without letting a text become a part of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.services.facts.librarians import librarian_of
from tests.services.scripted import Bench, Opener, says

from palimpsest.domain.command_names import CommandName
from palimpsest.domain.errors import ErrorKind, InvalidRequest, NotFound, ProviderError
from palimpsest.domain.messages import MessageId
from palimpsest.domain.models.limits import with_window
from palimpsest.domain.models.provider import TextDelta
from palimpsest.domain.turns.states import TurnState
from palimpsest.services.chat.commands.markdown import plain
from palimpsest.services.chat.commands.run import RUN, run_command
from palimpsest.services.chat.commands.scope import Reply, Scope
from palimpsest.services.chat.commands.table import COMMANDS, parse
from palimpsest.services.models.catalog import with_override


async def run(bench: Bench, text: str) -> Reply:
    return await run_command(Scope(bench.session, bench.conversation_id), text)


async def said(bench: Bench, text: str) -> str:
    reply = await run(bench, text)
    assert reply.conversation_id is None
    return reply.text


# Told from a message


@pytest.mark.parametrize("text", ["/help", "/HELP", "/search two words", "/pin one\ntwo", "/usage  "])
def test_a_slash_and_a_word_is_a_command(text: str) -> None:
    assert text.lower().startswith(f"/{parse(text).command.name}")


@pytest.mark.parametrize("text", ["", "/", "help", " /help", "/usr/bin is full", "//", "/1", "see /help", "/-b"])
def test_anything_else_is_a_message(text: str) -> None:
    with pytest.raises(InvalidRequest, match="This is not a command"):
        parse(text)


def test_name_and_argument_are_told_apart() -> None:
    asked = parse("/Pin   never use tabs,\nnot even here  ")
    assert (asked.command.name, asked.argument) == (CommandName.PIN, "never use tabs,\nnot even here")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("/sum", "There is no command /sum. Did you mean /summarize?"),
        ("/contxt", "There is no command /contxt. Did you mean /context or /cost or /continue?"),
        ("/s x", "Did you mean /summarize or /stats or /search or /share or /shared?"),
        ("/zzzzzz", "There is no command /zzzzzz. /help lists the commands."),
        ("/usage now", "/usage takes no argument."),
        ("/pin", "The argument is missing. Type /pin TEXT."),
        ("/withdraw  ", "The argument is missing. Type /withdraw ID."),
    ],
)
def test_what_is_no_command_is_answered_with_what_comes_near(text: str, sentence: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse(text)
    assert sentence in str(caught.value)


def test_every_command_is_in_the_table_once() -> None:
    assert [command.name for command in COMMANDS] == list(CommandName)
    assert all(command.help.endswith(".") for command in COMMANDS)
    assert set(RUN) == set(CommandName)


# Carried out


async def test_help_lists_every_command(bench: Opener) -> None:
    b = await bench([])
    text = await said(b, "/help")
    assert all(plain(command.usage) in text for command in COMMANDS)


async def test_context_usage_and_stats_report_what_there_is(bench: Opener) -> None:
    b = await bench([says("Blue.")])
    await b.ask("Which color?")
    context = await said(b, "/context")
    assert "| instructions |" in context
    assert "| message | 0 |" in context
    assert f"tokens for {plain('offline')}" in context
    usage = await said(b, "/usage")
    assert "2 messages, 0 summaries" in usage
    assert "| messages |" in usage
    assert await said(b, "/stats") == "Nothing was summarized in this conversation yet."


async def test_usage_names_the_setting_that_caps_a_request(bench: Opener) -> None:
    b = await bench([], context={"max_tokens": 8_000})
    assert "`context.max_tokens` allows at most 8,000 tokens" in await said(b, "/usage")


async def test_a_range_is_summarized_and_then_in_the_stats(bench: Opener) -> None:
    b = await bench([says("The gate is blue. " * 200) for _ in range(6)])
    for number in range(6):
        await b.ask(f"Question {number}: which color has the gate?")
    text = await said(b, "/summarize 0-3")
    assert "→" in text
    assert ", 1 summary" in text
    context = await said(b, "/context")
    assert "| summary 1 | 0-3 |" in context
    assert "## Summary 1: messages 0 to 3" in context
    whole = await said(b, "/context 1")
    assert whole.startswith("## Summary 1: messages 0 to 3")
    assert whole in context
    with pytest.raises(InvalidRequest, match="no summary 9"):
        await run(b, "/context 9")
    stats = await said(b, "/stats")
    assert "made smaller once" in stats
    assert "once because you asked for it" in stats
    assert "| what you chose | 1 |" in stats
    for wrong in ("3-0", "all", "1-2-3"):
        with pytest.raises(InvalidRequest, match="/summarize A-B"):
            await run(b, f"/summarize {wrong}")


async def test_pins_are_made_listed_and_taken_back(bench: Opener) -> None:
    b = await bench([])
    assert "`/pin TEXT`" in await said(b, "/rules")
    pinned = await said(b, "/pin Never use | or [a](b)\n<script>")
    assert "| holds | pin | Never use \\| or \\[a\\](b) \\<script\\> |" in pinned
    row = next(line for line in (await said(b, "/rules")).splitlines() if "Never" in line)
    taken = await said(b, f"/withdraw {row.split('|')[1].strip()}")
    assert "| holds |" not in taken
    with pytest.raises(NotFound):
        await run(b, "/withdraw 99.9")


async def test_models_are_listed_and_switched(bench: Opener) -> None:
    b = await bench([])
    listed = await said(b, "/model")
    assert "| offline (default) | offline |" in listed
    assert "To use these, configure the provider anthropic:\nclaude-" in listed
    assert await said(b, "/model offline") == "The model is now offline."
    with pytest.raises(NotFound):
        await run(b, "/model nobody-knows-it")


async def test_the_list_of_models_says_how_a_conversation_without_one_goes_on(bench: Opener) -> None:
    b = await bench([])
    models = b.session.contexts.models
    b.session.contexts.models = replace(models, providers={**models.providers, "anthropic": b.provider})
    name = b.session.contexts.models.default().name
    assert (await said(b, "/model")).endswith(
        f"This conversation only searches. A model is set up now: `/model {name}` goes on with it."
    )
    await said(b, f"/model {name}")
    assert "only searches" not in await said(b, "/model")


async def test_a_switch_shows_both_budgets(bench: Opener) -> None:
    b = await bench([], window=32_000)
    models = b.session.contexts.models
    large = with_window(models.get("offline"), 200_000)
    b.session.contexts.models = with_override(models, replace(large, name="large"))
    small_budget, large_budget = (models.budget(model).budget for model in (models.get("offline"), large))
    assert f" Budget: {small_budget:,} → {large_budget:,} tokens." in await said(b, "/model large")
    assert f" Budget: {large_budget:,} → {small_budget:,} tokens." in await said(b, "/model offline")


async def test_facts_are_listed_as_text_forgotten_and_restored(bench: Opener) -> None:
    b = await bench([])
    b.session.folder.facts.take(librarian_of(b, b.session.folder.root))
    assert await said(b, "/facts") == "There are no facts about this folder yet."
    stored = await b.session.folder.facts.keeper.pin_fact("The gate is ![x](http://example.invalid/x).")
    shown = "The gate is !\\[x\\](http://example.invalid/x)."
    assert f"- {stored.id}: 📌 {shown}" in await said(b, "/facts")
    assert f"- {stored.id}: 📌 {shown}" in await said(b, "/facts gate")
    assert await said(b, "/facts daffodil") == "No fact matches."
    assert shown in await said(b, f"/forget {stored.id}")
    assert await said(b, "/facts gate") == "No fact matches."
    assert f"| {stored.id} | {shown} | " in await said(b, "/restore")
    assert await said(b, f"/restore {stored.id}") == f"Restored: {shown}"
    assert shown in await said(b, "/facts")


async def test_a_new_conversation_says_where_the_chat_goes_on(bench: Opener) -> None:
    b = await bench([])
    new = await run(b, "/new The gate")
    assert new.conversation_id not in (None, b.conversation_id)
    titles = {record.id: record.title for record, _ in await b.session.conversations.list()}
    assert titles[new.conversation_id] == "The gate"
    started = await run_command(Scope(b.session, None), "/model offline")
    assert started.conversation_id in {record.id for record, _ in await b.session.conversations.list()}


async def test_found_messages_are_shown_as_text(bench: Opener) -> None:
    b = await bench([says("A blue one, ![x](http://example.invalid/x).")])
    await b.ask("Which gate?")
    assert "!\\[x\\](http://example.invalid/x)" in await said(b, "/search blue")
    assert await said(b, "/search daffodil") == "No message in this folder's conversations matches."


async def test_an_export_is_a_file_in_the_folder_and_replaces_none(bench: Opener, tmp_path: Path) -> None:
    b = await bench([says("Blue.")])
    await b.ask("Which color?")
    text = await said(b, "/export talk here.jsonl")
    path = b.session.folder.root / "talk here.jsonl"
    assert str(path) in text
    assert json.loads(path.read_text().splitlines()[0])
    with pytest.raises(InvalidRequest, match="exists already"):
        await run(b, "/export talk here.jsonl")
    await said(b, "/export")
    assert len(list(b.session.folder.root.glob("conversation-*.jsonl"))) == 1
    await said(b, f"/export {tmp_path / 'elsewhere.jsonl'}")
    assert (tmp_path / "elsewhere.jsonl").exists()


@pytest.mark.parametrize("text", ["/context", "/summarize", "/usage", "/stats", "/export", "/rules", "/pin x"])
async def test_before_there_is_a_conversation_a_command_about_one_says_so(bench: Opener, text: str) -> None:
    b = await bench([])
    with pytest.raises(InvalidRequest, match="no conversation yet"):
        await run_command(Scope(b.session, None), text)


async def test_a_command_stores_no_message(bench: Opener) -> None:
    b = await bench([])
    for text in ("/help", "/usage", "/context", "/search x", "/model"):
        await run(b, text)
    page = await b.session.conversations.read(b.conversation_id, MessageId(0), None)
    assert page.messages == ()


async def test_an_answer_that_broke_off_is_listed_and_something_is_done_about_it(bench: Opener) -> None:
    overloaded = ProviderError(ErrorKind.OVERLOADED, "The model is overloaded.")
    b = await bench([[TextDelta("half"), overloaded], [TextDelta("some"), overloaded], says("Blue.")])
    assert await said(b, "/recover") == "There are no broken answers to recover."
    await b.ask("Which color?")
    assert "| 1 | bench | it failed | 4 | " in await said(b, "/recover")
    for wrong in ("/recover 1", "/recover 2 keep", "/recover 1 forget", "/recover keep"):
        with pytest.raises(InvalidRequest, match="Type /recover N continue"):
            await run(b, wrong)
    reply = await run(b, "/recover 1 retry")
    assert (reply.text, reply.conversation_id) == (
        "The message is answered again in its conversation.",
        b.conversation_id,
    )
    (turn,) = b.session.folder.running.values()
    assert (await turn.wait()).state is TurnState.ERRORED
    assert await run(b, "/recover 1 keep") == Reply("The answer is kept as it is.")


async def test_summaries_are_undone_redone_expanded_and_written_again(bench: Opener) -> None:
    b = await bench([says("The gate is blue. " * 200) for _ in range(6)])
    for number in range(6):
        await b.ask(f"Question {number}: which color has the gate?")
    await said(b, "/summarize 0-3")
    assert "Undone: messages 0 to 3 are in the context without their summary." in plain_back(await said(b, "/undo"))
    assert "| summary 1 |" not in await said(b, "/context")
    assert "Redone: a summary covers messages 0 to 3." in plain_back(await said(b, "/redo"))
    assert "was written again" in await said(b, "/regenerate 1")
    assert "Messages 0 to 3 are in the context again, without a summary." in plain_back(await said(b, "/expand 2"))
    for wrong in ("/expand x", "/regenerate one"):
        with pytest.raises(InvalidRequest, match="with the number of a summary"):
            await run(b, wrong)


async def test_a_conversation_is_rolled_back_forked_and_named(bench: Opener) -> None:
    b = await bench([says("Blue."), says("Red.")])
    await b.ask("Which color?")
    await b.ask("And the door?")
    forked = await run(b, "/fork 1")
    assert "2 messages" in forked.text
    assert forked.conversation_id not in (None, b.conversation_id)
    rolled_back = await run(b, "/rollback 2")
    assert "Messages 2 to 3 are hidden" in rolled_back.text
    assert rolled_back.draft == "And the door?"
    page = await b.session.conversations.read(b.conversation_id, None, None)
    assert page.record.draft == "And the door?"
    assert "now “Colors”" in await said(b, "/rename Colors")


async def test_what_was_said_is_purged_only_when_that_was_confirmed(bench: Opener) -> None:
    b = await bench([says("Blue."), says("Red.")])
    await b.ask("Which color?")
    await b.ask("And the door of amber?")
    would = plain_back(await said(b, "/purge 2-3"))
    assert "the content of messages 2 to 3, with" in would
    assert "type `/purge 2-3 yes`" in would
    assert "amber" in await said(b, "/search amber")
    assert "The content of 2 messages, and all that was derived from it, is deleted." in await said(b, "/purge 2-3 yes")
    assert "No message" in await said(b, "/search amber")
    assert "type `/purge yes`" in await said(b, "/purge")
    for wrong in ("/purge 3-2 yes", "/purge all", "/purge YES"):
        with pytest.raises(InvalidRequest, match="/purge A-B"):
            await run(b, wrong)
    assert "The content of 2 messages, and all that was derived from it, is deleted." in await said(b, "/purge yes")
    assert "No message" in await said(b, "/search color")


async def test_an_answer_is_asked_for_again_and_its_turn_can_be_followed(bench: Opener) -> None:
    b = await bench([says("Blue."), says("Red.")])
    await b.ask("Which color?")
    reply = await run(b, "/retry")
    assert reply.turn_id is not None
    await b.session.folder.running[reply.turn_id].wait()
    assert [text for role, text, _ in await b.said() if role == "assistant"] == ["Blue.", "Red."]


async def test_an_answer_that_was_rolled_back_is_asked_for_again_and_a_question_is_not(bench: Opener) -> None:
    b = await bench([says("Blue."), says("Red.")])
    await b.ask("Which color?")
    assert "Message 1 is hidden" in await said(b, "/rollback 1")
    reply = await run(b, "/retry")
    assert reply.turn_id is not None
    assert (await b.session.folder.running[reply.turn_id].wait()).state is TurnState.COMMITTED
    rolled_back = await run(b, "/rollback")
    assert ("Messages 0 to 2 are hidden" in rolled_back.text, rolled_back.draft) == (True, "Which color?")
    with pytest.raises(InvalidRequest, match="rolled back"):
        await run(b, "/retry")


def plain_back(text: str) -> str:
    return text.replace("\\", "")
