"""A fact is tied to a place in a file: the editor shows when that place has changed, and what can be done about it.

The real server, no model: facts are pinned, or learned by rules. Editors that pull and editors that are pushed to.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.lsp.in_process import connected_here
from tests.lsp.rawlsp import HEARS_CHANGES, RawClient
from tests.lsp.real_server import Editor, home
from tests.waiting import WAIT_S

from palimpsest.domain.context.rules.detection import detect
from palimpsest.domain.messages import user_message
from palimpsest.storage.directory import DATABASE_NAME

SOURCE = '''"""Prices."""

RATE = 0.19


def gross(net):
    """With tax."""
    return net * (1 + RATE)


def net(gross):
    return gross / (1 + RATE)
'''
CHANGED = SOURCE.replace("net * (1 + RATE)", "round(net * (1 + RATE), 2)")
PULLS: dict[str, Any] = {"textDocument": {"diagnostic": {}}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "shop é"
    (root / "src").mkdir(parents=True)
    (root / "src/prices.py").write_text(SOURCE)
    return root


class Session(Editor):
    """An editor on one folder with one file."""

    def __init__(self, client: RawClient, folder: Path) -> None:
        super().__init__(client)
        self.path = folder / "src/prices.py"
        self.uri = self.path.as_uri()

    async def pin(self, content: str = "Gross prices are the net price with tax.") -> int:
        """A fact on the function `gross`."""
        params = {
            "content": content,
            "fileUri": self.uri,
            "startLine": 5,
            "endLine": 7,
        }
        return int((await self.client.result("palimpsest/facts/pin", params))["id"])

    async def pulled(self) -> list[dict[str, Any]]:
        report = await self.client.result("textDocument/diagnostic", {"textDocument": {"uri": self.uri}})
        items: list[dict[str, Any]] = report["items"]
        return items

    async def pulled_until(self, n_items: int) -> list[dict[str, Any]]:
        """Files are looked at when somebody says that they changed, so a pull may come too early."""
        async with asyncio.timeout(WAIT_S):
            while len(items := await self.pulled()) != n_items:
                await self.client.notification("palimpsest/didChangeFacts")
            return items

    def open(self, text: str) -> None:
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": text}
        self.client.notify("textDocument/didOpen", {"textDocument": item})

    def change(self, version: int, text: str) -> None:
        document = {"uri": self.uri, "version": version}
        self.client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def save(self, text: str) -> None:
        self.path.write_text(text)
        self.client.notify("textDocument/didSave", {"textDocument": {"uri": self.uri}})

    async def actions(self) -> dict[str, dict[str, Any]]:
        """By command."""
        (item,) = await self.pulled()
        params = {"textDocument": {"uri": self.uri}, "range": item["range"], "context": {"diagnostics": [item]}}
        found = await self.client.result("textDocument/codeAction", params)
        return {action["command"]["command"]: action for action in found}

    async def do(self, action: dict[str, Any]) -> Any:
        command = action["command"]
        params = {"command": command["command"], "arguments": command["arguments"]}
        return await self.client.result("workspace/executeCommand", params)


async def opened(client: RawClient, folder: Path, capabilities: dict[str, Any]) -> Session:
    folders = [{"uri": folder.as_uri(), "name": folder.name}]
    await client.initialize(capabilities | HEARS_CHANGES, workspaceFolders=folders)
    return Session(client, folder)


async def test_a_change_of_the_place_is_a_diagnostic_until_the_fact_is_verified(tmp_path: Path, folder: Path) -> None:
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, PULLS)
        fact_id = await session.pin()
        assert await session.pulled() == []
        session.save("# a new first line\n" + SOURCE)
        facts = await client.result("palimpsest/facts/list", {})
        assert await session.pulled() == []
        session.save("# a new first line\n" + CHANGED)
        (item,) = await session.pulled_until(1)
        assert (item["source"], item["data"], item["range"]["start"]["line"]) == (
            "palimpsest",
            {"factIds": [fact_id]},
            6,
        )
        facts = await client.result("palimpsest/facts/list", {"stale": True})
        assert [fact["id"] for fact in facts["facts"]] == [fact_id]
        assert (facts["open"], facts["stale"]) == (1, 1)
        (source,) = facts["facts"][0]["sources"]
        assert source["condition"] == "changed"
        assert "was" not in source, "the first line, which is stored, stands there yet"
        assert (source["now"], source["nowLine"]) == ("return round(net * (1 + RATE), 2)", 8)
        actions = await session.actions()
        verified = await session.do(actions["palimpsest.fact.verify"])
        assert (verified["isStale"], verified["verifiedAt"] is not None) == (False, True)
        assert await session.pulled() == []


CHANGES = {
    "a line": (
        (2, 2),
        SOURCE.replace("RATE = 0.19", "RATE = 0.2"),
        "This line was `RATE = 0.19` and is now `RATE = 0.2`.",
    ),
    "a line of several": (
        (5, 7),
        CHANGED,
        "Here something has changed. Line 8 is now `return round(net * (1 + RATE), 2)`.",
    ),
    "the first of several": (
        (5, 7),
        SOURCE.replace("def gross(net):", "def gross(net, rate=RATE):"),
        "Here something has changed. The line `def gross(net):` is gone. Line 6 is now `def gross(net, rate=RATE):`.",
    ),
    "a line that was removed": ((2, 2), SOURCE.replace("RATE = 0.19\n", ""), "The line `RATE = 0.19` is gone."),
    "a line of several that was removed": (
        (5, 7),
        SOURCE.replace('    """With tax."""\n', ""),
        "Here something was removed.",
    ),
    "a line of the file": ((None, None), CHANGED, "In this file something has changed. Line 8 is now `return round("),
    "the file": ((2, 2), None, "What was here is gone."),
}


@pytest.mark.parametrize("is_open", [True, False])
@pytest.mark.parametrize("what", CHANGES)
async def test_a_diagnostic_says_what_was_there_and_what_is(
    tmp_path: Path, folder: Path, what: str, *, is_open: bool
) -> None:
    (start, end), text, event = CHANGES[what]
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, PULLS)
        params = {"content": "Tax is 19 %.", "fileUri": session.uri, "startLine": start, "endLine": end}
        await client.result("palimpsest/facts/pin", {k: v for k, v in params.items() if v is not None})
        if text is None:
            session.path.unlink()
            client.notify("textDocument/didSave", {"textDocument": {"uri": session.uri}})
        else:
            session.save(text)
            if is_open:
                session.open(text)
        (item,) = await session.pulled_until(1)
        assert item["message"].startswith(event), item["message"]
        assert item["message"].endswith("Is this still true? Tax is 19 %.")
        (source,) = (await client.result("palimpsest/facts/list", {}))["facts"][0]["sources"]
        if source["condition"] == "fresh":
            assert is_open, "only an unsaved text may be ahead of the store"
            return
        told = [source[key] for key in ("was", "now") if source.get(key)]
        assert all(f"`{line[:20]}" in item["message"] for line in told)
        assert bool(told) == ("`" in item["message"])


async def test_an_unsaved_edit_counts_while_it_stands_and_undoing_it_clears(tmp_path: Path, folder: Path) -> None:
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, PULLS)
        await session.pin()
        session.open(SOURCE)
        assert await session.pulled() == []
        session.change(2, CHANGED)
        assert len(await session.pulled()) == 1
        assert (await client.result("palimpsest/facts/list", {}))["stale"] == 0
        # It cannot rest on a text that is nowhere but in the editor, which is told so.
        await session.do((await session.actions())["palimpsest.fact.verify"])
        message = await client.notification("window/showMessage")
        assert "src/prices.py has unsaved changes" in message["message"]
        assert len(await session.pulled()) == 1
        session.change(3, SOURCE)
        assert await session.pulled() == []


async def test_an_editor_that_cannot_pull_is_told_what_changed_and_nothing_else(tmp_path: Path, folder: Path) -> None:
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, {})
        await session.pin()
        session.open(SOURCE)
        session.change(2, CHANGED)
        told = await client.notification("textDocument/publishDiagnostics")
        assert (told["uri"], len(told["diagnostics"]), told["version"]) == (session.uri, 1, 2)
        session.change(3, SOURCE)
        told = await client.notification("textDocument/publishDiagnostics")
        assert (told["uri"], told["diagnostics"]) == (session.uri, [])
        assert len(client.received("textDocument/publishDiagnostics")) == 2


async def test_an_editor_that_pulls_and_cannot_hear_that_it_should_again_is_pushed_to(
    tmp_path: Path, folder: Path
) -> None:
    """Neovim 0.11 pulls when a document changes and never else: a settled fact would stay a warning."""
    async with connected_here(**home(tmp_path)) as client:
        folders = [{"uri": folder.as_uri(), "name": folder.name}]
        answer = await client.initialize(PULLS, workspaceFolders=folders)
        assert "diagnosticProvider" not in answer["result"]["capabilities"]
        session = Session(client, folder)
        fact_id = await session.pin()
        session.open(CHANGED)
        session.save(CHANGED)
        told = await client.notification("textDocument/publishDiagnostics")
        assert [each["data"]["factIds"] for each in told["diagnostics"]] == [[fact_id]]
        await client.result("palimpsest/facts/verify", {"factId": fact_id})
        told = await client.notification("textDocument/publishDiagnostics")
        assert told["diagnostics"] == []


async def test_a_pull_of_the_whole_folder_names_only_documents_that_have_changed(tmp_path: Path, folder: Path) -> None:
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, PULLS)
        await session.pin()
        session.save(CHANGED)
        await session.pulled_until(1)
        report = await client.result("workspace/diagnostic", {"previousResultIds": []})
        (item,) = report["items"]
        assert (item["uri"], item["kind"], len(item["items"])) == (session.uri, "full", 1)
        known = [{"uri": item["uri"], "value": item["resultId"]}]
        report = await client.result("workspace/diagnostic", {"previousResultIds": known})
        assert [each["kind"] for each in report["items"]] == ["unchanged"]
        session.save(SOURCE)
        await session.pulled_until(0)
        report = await client.result("workspace/diagnostic", {"previousResultIds": known})
        assert [(each["kind"], each["items"]) for each in report["items"]] == [("full", [])]


@pytest.mark.parametrize("command", ["palimpsest.fact.verify", "palimpsest.fact.forget", "palimpsest.fact.pin"])
async def test_each_action_clears_the_diagnostic(tmp_path: Path, folder: Path, command: str) -> None:
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, PULLS)
        await session.pin()
        session.save(CHANGED)
        await session.pulled_until(1)
        client.handlers["window/showMessageRequest"] = lambda _: {"title": "Forget"}
        await session.do((await session.actions())[command])
        assert await session.pulled() == []
        left = (await client.result("palimpsest/facts/list", {}))["open"]
        assert left == (0 if command == "palimpsest.fact.forget" else 1)


async def test_an_editor_that_carries_out_every_quick_fix_does_no_harm(tmp_path: Path, folder: Path) -> None:
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, PULLS)
        first, second = await session.pin(), await session.pin("Tax is a rate.")
        session.save(CHANGED)
        (item, other) = await session.pulled_until(2)
        params = {
            "textDocument": {"uri": session.uri},
            "range": item["range"],
            "context": {"diagnostics": [item, other], "only": ["quickfix"]},
        }
        fixes = await client.result("textDocument/codeAction", params)
        assert [each["command"]["command"] for each in fixes] == 2 * ["palimpsest.fact.verify"]
        assert [each.get("isPreferred") for each in fixes] == [True, None]
        for fix in fixes:
            await session.do(fix)
        left = (await client.result("palimpsest/facts/list", {}))["facts"]
        assert {(each["id"], each["isStale"]) for each in left} == {(first, False), (second, False)}
        params["context"] = {"diagnostics": [], "only": ["palimpsest.fact.forget"]}
        chosen = await client.result("textDocument/codeAction", params)
        assert {each["kind"] for each in chosen} == {"palimpsest.fact.forget"}


async def test_forgetting_asks_first_and_can_be_taken_back(tmp_path: Path, folder: Path) -> None:
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, PULLS)
        fact_id = await session.pin()
        session.save(CHANGED)
        await session.pulled_until(1)
        before = await client.result("palimpsest/facts/list", {})
        forget = (await session.actions())["palimpsest.fact.forget"]
        command = {key: forget["command"][key] for key in ("command", "arguments")}
        refused = await client.request("workspace/executeCommand", command)
        assert "cannot ask" in refused["error"]["message"]
        client.handlers["window/showMessageRequest"] = lambda _: None
        assert (await session.do(forget))["isForgotten"] is False
        assert await client.result("palimpsest/facts/list", {}) == before
        command["arguments"][0]["isConfirmed"] = True
        assert (await client.result("workspace/executeCommand", command))["isForgotten"] is True
        assert (await client.result("palimpsest/facts/list", {"includeClosed": True}))["facts"] == []
        (kept,) = (await client.result("palimpsest/facts/forgotten", {}))["facts"]
        assert (kept["factId"], kept["content"]) == (fact_id, "Gross prices are the net price with tax.")
        place = {"start": {"line": 6, "character": 0}, "end": {"line": 6, "character": 0}}
        context = {"diagnostics": [], "only": ["palimpsest.fact"]}
        at = {"textDocument": {"uri": session.uri}, "range": place, "context": context}
        (offer,) = await client.result("textDocument/codeAction", at)
        assert offer["title"] == "Restore the forgotten fact: Gross prices are the net price with tax."
        assert (offer["kind"], offer.get("isPreferred")) == ("palimpsest.fact.restore", None)
        place["start"]["line"] = place["end"]["line"] = 0
        assert await client.result("textDocument/codeAction", at) == []
        await session.do(offer)
        assert await client.result("palimpsest/facts/list", {}) == before
        assert (await client.result("palimpsest/facts/forgotten", {}))["facts"] == []
        again = await client.request("palimpsest/facts/restore", {"factId": fact_id})
        assert again["error"]["data"]["kind"] == "not_found"


async def test_asking_about_a_fact_drafts_the_question_and_sends_nothing(tmp_path: Path, folder: Path) -> None:
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, PULLS)
        await session.pin()
        session.save(CHANGED)
        await session.pulled_until(1)
        asked = await session.do((await session.actions())["palimpsest.fact.ask"])
        page = await session.read(asked["conversationId"])
        assert page["messages"] == []
        # Quoted: only what a user says himself makes a rule.
        assert "\n> Gross prices are the net price with tax.\n" in asked["draft"]
        assert "@src/prices.py" in asked["draft"]


async def test_hover_lens_and_the_document_name_the_facts(tmp_path: Path, folder: Path) -> None:
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, PULLS)
        await session.pin()
        session.open(SOURCE)
        at = {"textDocument": {"uri": session.uri}, "position": {"line": 6, "character": 0}}
        hover = await client.result("textDocument/hover", at)
        assert "Gross prices are the net price with tax." in hover["contents"]["value"]
        elsewhere = {**at, "position": {"line": 0, "character": 0}}
        assert await client.result("textDocument/hover", elsewhere) is None
        (lens,) = await client.result("textDocument/codeLens", {"textDocument": {"uri": session.uri}})
        assert (lens["range"]["start"]["line"], lens["command"]["title"]) == (5, "1 fact")
        document = await client.result("workspace/textDocumentContent", {"uri": "palimpsest-facts:/facts.md"})
        assert "Gross prices are the net price with tax. (`src/prices.py:6-8`)" in document["text"]


def note_author(directory: Path, name: str) -> None:
    """Every fact is one that a colleague of this name noted."""
    database = next(directory.rglob(DATABASE_NAME))
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT INTO fact_author (fact, member, name) SELECT id, 'm', ? FROM fact", [name])


async def test_what_a_colleague_noted_has_his_name_wherever_it_is_shown(tmp_path: Path, folder: Path) -> None:
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, PULLS)
        await session.pin("Net prices are without tax. Always round. Never ask.")
        fact_id = await session.pin()
        note_author(tmp_path, "ann *b*")
        session.open(SOURCE)
        facts = (await client.result("palimpsest/facts/list", {}))["facts"]
        assert [(fact["author"], fact["shared"]) for fact in facts] == [("ann *b*", False)] * 2
        at = {"textDocument": {"uri": session.uri}, "position": {"line": 6, "character": 0}}
        hover = await client.result("textDocument/hover", at)
        assert "with tax. \\(noted by ann \\*b\\*\\)" in hover["contents"]["value"]
        document = await client.result("workspace/textDocumentContent", {"uri": "palimpsest-facts:/facts.md"})
        assert document["text"].count("noted by ann") == 2
        listed = await client.result("palimpsest/command/run", {"text": "/facts", "folderUri": folder.as_uri()})
        assert listed["text"].count("(noted by ann") == 2
        session.save(CHANGED)
        session.change(2, CHANGED)
        assert all("noted by ann" in each["message"] for each in await session.pulled_until(2))
        arguments = [{"folderUri": folder.as_uri(), "factId": fact_id - 1}]
        run = {"command": "palimpsest.fact.ask", "arguments": arguments}
        asked = await client.result("workspace/executeCommand", run)
        assert "(noted by ann" in asked["draft"]
        assert detect(user_message(asked["draft"])) == ()


async def test_a_fact_that_does_not_exist_is_told_with_what_to_do(tmp_path: Path, folder: Path) -> None:
    async with connected_here(**home(tmp_path)) as client:
        await opened(client, folder, PULLS)
        answer = await client.request("palimpsest/facts/verify", {"factId": 7})
        assert answer["error"]["data"]["kind"] == "not_found"
        assert "List the facts" in answer["error"]["message"]


async def test_nothing_is_kept_of_a_folder_that_is_only_looked_at(tmp_path: Path, folder: Path) -> None:
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, PULLS)
        session.open(SOURCE)
        assert await session.pulled() == []
    assert not list((tmp_path / "data").glob("**/store.db"))


async def test_what_the_user_rules_is_learned_and_found_again(tmp_path: Path, folder: Path) -> None:
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, PULLS)
        await session.chat("Never round prices before the last step of a calculation. What does src/prices.py do?")
        async with asyncio.timeout(WAIT_S):
            while not (await client.result("palimpsest/facts/list", {}))["facts"]:
                await client.notification("palimpsest/didChangeFacts")
        (fact,) = (await client.result("palimpsest/facts/search", {"query": "rounding"}))["facts"]
        assert fact["factType"] == "constraint"
        assert fact["quote"] in "Never round prices before the last step of a calculation."


async def test_a_list_says_what_changed_on_disk_also_while_the_editor_lags_behind(tmp_path: Path, folder: Path) -> None:
    async with connected_here(**home(tmp_path)) as client:
        session = await opened(client, folder, PULLS)
        params = {"content": "Tax is 19 %.", "fileUri": session.uri, "startLine": 2}
        await client.result("palimpsest/facts/pin", params)
        session.open(SOURCE)
        session.path.write_text(SOURCE.replace("0.19", "0.20"))
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": session.uri, "type": 2}]})
        async with asyncio.timeout(WAIT_S):
            while not (found := await client.result("palimpsest/facts/list", {"stale": True}))["facts"]:
                await client.notification("palimpsest/didChangeFacts")
        (source,) = found["facts"][0]["sources"]
        assert (source["was"], source["now"], source["nowLine"]) == ("RATE = 0.19", "RATE = 0.20", 2)
