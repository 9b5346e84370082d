"""A model changes files from the terminal: the user is asked, goes on typing, takes edits back, and loses nothing."""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.clients.fake_provider import Call, FakeProvider, Reply
from tests.terminal.chats import ENTER, HERE, Terminal
from tests.terminal.real_chats import RealChats

PRICES = "RATE = 0.19\n\n\ndef price(net):\n    return net * 1.19\n"
NAMES = "one\r\ntwo 😀 x\r\nthree"


@pytest.fixture
async def chats(tmp_path: Path, fake: FakeProvider) -> RealChats:
    chats = RealChats(tmp_path, fake)
    chats.write("prices.py", PRICES)
    chats.write("names.txt", NAMES)
    await asyncio.to_thread(chats.trust)
    return chats


def answer(terminal: Terminal, question: str, key: str) -> None:
    terminal.expect(question)
    terminal.until("then Enter")
    terminal.type(key + ENTER)


def command(terminal: Terminal, line: str, *wanted: str) -> None:
    terminal.type(line + ENTER)
    terminal.expect(line)
    for each in wanted:
        terminal.expect(each)
    terminal.expect_prompt()


def told_of_tools(fake: FakeProvider) -> list[str]:
    """The results of the tools in the newest request."""
    return [each["content"] for each in fake.bodies[-1]["messages"] if each["role"] == "tool"]


async def test_the_edit_of_the_documentation_is_asked_about_and_made(chats: RealChats, fake: FakeProvider) -> None:
    page = (Path(__file__).parents[2] / "docs" / "fake-provider.md").read_text(encoding="utf-8")
    for number, line in enumerate(page.split("```jsonl\n")[1].partition("```")[0].splitlines()):
        said = json.loads(line)
        calls = [Call(f"c{number}", each["name"], json.dumps(each["arguments"])) for each in said.get("calls", ())]
        fake.script.append(Reply(text=said["text"], calls=tuple(calls)))

    def play() -> None:
        with chats.terminal(which="new") as terminal:
            terminal.expect_prompt()
            terminal.type("Raise the rate to 20 %" + ENTER)
            answer(terminal, "Change prices.py?", "y")
            terminal.expect("The rate is 0.20 now.")
            terminal.expect_prompt()
            assert terminal.leave() == 0
        assert chats.text("prices.py") == PRICES.replace("RATE = 0.19", "RATE = 0.20")

    await asyncio.to_thread(play)


async def test_two_files_are_changed_while_the_user_types_on_and_one_is_taken_back(
    chats: RealChats, fake: FakeProvider
) -> None:
    chats.model_edits(
        ("prices.py", "net * 1.19", "net * (1 + RATE)"), ("names.txt", "x\nthree", "y\nthree\nfour"), then="Both."
    )
    fake.script += [Reply(text="Typed on.")]

    def play() -> None:
        with chats.terminal() as terminal:
            terminal.expect_prompt()
            terminal.type("Do it" + ENTER)
            terminal.until("Change prices.py?", "-    return net * 1.19", "+    return net * (1 + RATE)")
            terminal.type("and then" + ENTER)
            terminal.until("next: and then")
            assert chats.text("prices.py") == PRICES
            answer(terminal, "Change prices.py?", "y")
            answer(terminal, "Change names.txt?", "y")
            terminal.expect("→ Changed names.txt")
            terminal.expect("2 edits made. /changes shows them, /revert takes them back.")
            terminal.expect("Typed on.")
            terminal.expect_prompt()
            assert chats.text("prices.py") == PRICES.replace("1.19", "(1 + RATE)")
            assert chats.text("names.txt") == "one\r\ntwo 😀 y\r\nthree\r\nfour"
            command(terminal, "/changes", "prices.py", "applied", "names.txt", "applied")
            command(terminal, "/revert 1", "prices.py: taken back.")
            assert chats.text("prices.py") == PRICES
            command(terminal, "/changes", "taken back", "applied")
            chats.write("names.txt", "one\r\ntwo 😀 mine\r\nthree\r\nfour\r\n")
            command(terminal, "/revert all", "names.txt: left as it is.", "decide by hand.")
            assert terminal.leave() == 0

    await asyncio.to_thread(play)
    assert told_of_tools(fake) == ["Applied and saved: prices.py.", "Applied and saved: names.txt."]
    assert chats.text("names.txt") == "one\r\ntwo 😀 mine\r\nthree\r\nfour\r\n"


async def test_what_the_user_refuses_or_has_changed_meanwhile_is_not_made_and_new_files_are(
    chats: RealChats, fake: FakeProvider
) -> None:
    chats.model_edits(("prices.py", "RATE", "TAX"), ("names.txt", "two", "2"), ("new/é.py", "", "x = 1\n"))

    def play() -> None:
        with chats.terminal() as terminal:
            terminal.expect_prompt()
            terminal.type("Do it" + ENTER)
            answer(terminal, "Change prices.py?", "n")
            terminal.until("Change names.txt?", "then Enter")
            chats.write("names.txt", NAMES + "\r\nmine")
            answer(terminal, "Change names.txt?", "y")
            terminal.expect("Changing names.txt: not done. The file has changed since")
            answer(terminal, "new/é.py?", "y")
            terminal.expect("1 edit made.")
            terminal.expect_prompt()
            assert chats.text("new/é.py") == "x = 1\n"
            command(terminal, "/revert", "new/é.py: taken back.")
            assert terminal.leave() == 0

    await asyncio.to_thread(play)
    assert (chats.text("prices.py"), chats.text("names.txt")) == (PRICES, NAMES + "\r\nmine")
    assert not (chats.folder / "new/é.py").exists()
    assert told_of_tools(fake)[2] == "Applied and saved: new/é.py."


async def test_a_retry_takes_the_edits_of_what_it_hides_back(chats: RealChats) -> None:
    chats.model_edits(("prices.py", "net * 1.19", "net * RATE"))
    chats.model_edits(("prices.py", "net * 1.19", "net * (1 + RATE)"), then="Better.")

    def play() -> None:
        with chats.terminal(which="accepting+new") as terminal:
            terminal.expect_prompt()
            terminal.type("Do it" + ENTER)
            terminal.expect("1 edit made.")
            terminal.expect_prompt()
            command(terminal, "/retry edits", "Better.", "1 edit made.")
            assert terminal.leave() == 0

    await asyncio.to_thread(play)
    assert chats.text("prices.py") == PRICES.replace("1.19", "(1 + RATE)")


async def test_with_one_question_nobody_is_asked_unless_the_user_has_said_yes_before(
    chats: RealChats, fake: FakeProvider
) -> None:
    edit = ("prices.py", "net * 1.19", "net * (1 + RATE)")

    def ask(**how: bool) -> tuple[str, str, int]:
        chats.model_edits(edit)
        return chats.ask("Do it", **how)

    def play() -> None:
        out, err, code = ask()
        assert (out, code) == ("Done.\n\n", 0)
        assert "nobody to ask: Change prices.py?" in err
        assert "--accept-edits approves all edits of files." in err
        assert chats.text("prices.py") == PRICES
        out, err, code = ask(accepting=True)
        assert (out, code) == ("Done.\n\n", 0)
        assert err == "1 edit made. /changes shows it, /revert takes it back.\n"
        assert chats.text("prices.py") != PRICES
        out, err, code = chats.ask("/revert")
        assert ("prices.py`: taken back." in out, err, code) == (True, "", 0)
        assert chats.text("prices.py") == PRICES
        chats.model_edits(edit)
        with chats.terminal() as terminal:
            terminal.expect_prompt()
            terminal.type("Do it" + ENTER)
            answer(terminal, "Change prices.py?", "a")
            terminal.expect("1 edit made.")
            terminal.expect_prompt()
            command(terminal, "/revert", "taken back.")
            assert terminal.leave() == 0
        assert ask()[1] == "1 edit made. /changes shows it, /revert takes it back.\n"
        assert chats.text("prices.py") != PRICES

    await asyncio.to_thread(play)
    assert "can ask the user for approval" in told_of_tools(fake)[0]


async def test_in_a_folder_that_is_not_trusted_nothing_is_changed(chats: RealChats, fake: FakeProvider) -> None:
    await asyncio.to_thread(chats.revoke_trust)
    chats.model_edits(("prices.py", "1.19", "1"))
    _, err, _ = await asyncio.to_thread(chats.ask, "Do it", accepting=True)
    assert (
        err == "This folder is not trusted, so a model can only read here. `palimpsest trust` lets it change files.\n"
    )
    assert "There is no tool 'propose_edit'" in told_of_tools(fake)[0]
    assert chats.text("prices.py") == PRICES


@pytest.mark.parametrize("victim", ["terminal", "server"])
async def test_a_kill_at_the_moment_of_the_write_leaves_the_file_whole(chats: RealChats, victim: str) -> None:
    chats.model_edits(("prices.py", "net * 1.19", "net * (1 + RATE)"))
    start = chats.command

    def dying(*scene: str, which: str = "newest", server: list[str] | None = None) -> list[str]:
        python, isolated, _, *rest = start(*scene, which=which, server=server)
        return [python, isolated, str(HERE / "dying_chat.py"), victim, *rest]

    def play() -> None:
        chats.command = dying  # type: ignore[method-assign]
        with chats.terminal() as terminal:
            terminal.expect_prompt()
            terminal.type("Do it" + ENTER)
            answer(terminal, "Change prices.py?", "y")
            if victim == "server":
                terminal.expect("has ended unexpectedly")
            assert terminal.end() == (1 if victim == "server" else -9)
        chats.command = start  # type: ignore[method-assign]
        is_made = victim == "server"
        assert chats.text("prices.py") == (PRICES.replace("1.19", "(1 + RATE)") if is_made else PRICES)
        with chats.terminal() as terminal:
            terminal.expect_prompt()
            command(terminal, "/changes", "applied" if is_made else "taken back")
            command(terminal, "/revert all", "taken back." if is_made else "nothing to take back.")
            assert terminal.leave() == 0

    await asyncio.to_thread(play)
    assert chats.text("prices.py") == PRICES


async def test_a_kill_before_the_user_has_answered_is_said_to_have_done_nothing(
    chats: RealChats, fake: FakeProvider
) -> None:
    chats.model_edits(("prices.py", "net * 1.19", "net * (1 + RATE)"))
    fake.script[1] = Reply(text="Again.")

    def play() -> None:
        with chats.terminal() as terminal:
            terminal.expect_prompt()
            terminal.type("Do it" + ENTER)
            terminal.until("Change prices.py?", "then Enter")
            terminal.kill_server()
            terminal.expect("without a yes, nothing is done.")
            terminal.expect("→ Changing prices.py · no result")
            assert terminal.end() == 1
        with chats.terminal() as terminal:
            terminal.expect_prompt()
            command(terminal, "/changes", "No edit of a file is kept")
            command(terminal, "and now?", "Again.")
            assert terminal.leave() == 0

    await asyncio.to_thread(play)
    assert "nothing was done" in told_of_tools(fake)[0]
    assert chats.text("prices.py") == PRICES


@pytest.mark.parametrize("seed", range(2))
async def test_thirty_edits_of_ten_files_are_taken_back_and_no_line_of_the_users_is_lost(
    chats: RealChats, seed: int
) -> None:
    chance = random.Random(seed)
    names = [f"file{number}.txt" for number in range(10)]
    lines = {name: [f"{name} line {number} {chance.random()}" for number in range(30)] for name in names}
    ends = {name: chance.choice(["\n", "\r\n"]) for name in names}
    for name in names:
        chats.write(name, ends[name].join(lines[name]))
    at = {name: chance.sample(range(30), 3) for name in names}
    chats.model_edits(*((name, lines[name][each], f"edited {each}\nadded") for name in names for each in at[name]))
    await asyncio.to_thread(chats.ask, "Do it", accepting=True)
    assert all(chats.text(name).count("edited") == 3 for name in names)
    wanted: dict[str, str] = {}
    for number, name in enumerate(names):
        now = chats.text(name).split(ends[name])
        if number % 3 == 2:  # on a line of an edit: nothing of this file is taken back
            now[now.index(f"edited {at[name][0]}")] += " mine"
            wanted[name] = ends[name].join(now)
        else:
            own = [(each, f"mine {each} 😀") for each in chance.sample(range(1, 29), 5) if each not in at[name]]
            places = {each: now.index(lines[name][each]) for each, _ in own}
            for each, text in sorted(own, reverse=True):
                now.insert(places[each], text)
                lines[name].insert(each, text)
            wanted[name] = ends[name].join(lines[name])
        chats.write(name, ends[name].join(now))
    out, _, code = await asyncio.to_thread(chats.ask, "/revert all")
    assert code == 0
    assert {name: chats.text(name) for name in names} == wanted
    assert (out.count(": taken back."), out.count("left as it is.")) == (7, 3)


async def test_a_fact_about_an_edited_line_stays_fresh_and_goes_stale_by_another_hand(chats: RealChats) -> None:
    chats.model_edits(("prices.py", "RATE = 0.19", "RATE = 0.19  # since 2020"))

    def until(is_done: Callable[[str], bool], terminal: Terminal) -> None:
        """The server sees a file when the system tells it."""
        while not is_done(chats.program("facts", "list", "--stale")):
            terminal.until("Ask, or type")

    def play() -> None:
        for fact, place in (("RATE is 0.19", "prices.py:1"), ("price multiplies net by 1.19", "prices.py:5")):
            chats.program("facts", "pin", *fact.split(), "--at", place)
        with chats.terminal(which="accepting+new") as terminal:
            terminal.expect_prompt()
            terminal.type("Do it" + ENTER)
            terminal.expect("1 edit made.")
            terminal.expect_prompt()
            chats.write("prices.py", chats.text("prices.py").replace("1.19", "1.2"))
            until(lambda listed: "multiplies" in listed, terminal)
            assert "RATE is 0.19" not in chats.program("facts", "list", "--stale")
            assert terminal.leave() == 0

    await asyncio.to_thread(play)


async def test_the_answer_as_json_is_nothing_but_the_answer(chats: RealChats) -> None:
    chats.model_edits(("prices.py", "1.19", "1.2"))
    done = await asyncio.to_thread(chats.pipe, "", which="accepting+json:Do it")
    assert json.loads(done.stdout)["text"] == "Done."
    assert done.stderr.startswith("1 edit made.")
    assert sys.executable not in done.stderr
