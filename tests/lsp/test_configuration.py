"""What an editor says about a folder counts from then on, what cannot be meant is told, and nothing of it blocks."""

from __future__ import annotations

import asyncio
import contextlib
import errno
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.clients.fake_provider import KEY, FakeProvider
from tests.lsp.in_process import connected_here, in_environment, served
from tests.lsp.real_server import STALL, STALLED_TEXT, Editor, home
from tests.waiting import WAIT_S

from palimpsest.app.compose import load_folders
from palimpsest.app.stored_keys import stored_keys
from palimpsest.app.trusted_folders import trusted_folders
from palimpsest.lsp.features.parts.configuration import EditorConfiguration
from palimpsest.lsp.server import build_server
from palimpsest.services.folder.folders import Folders
from palimpsest.services.models.keys import Key

ASKS = {"workspace": {"configuration": True}}
"""The capabilities of an editor that answers `workspace/configuration`."""

Connect = Callable[..., contextlib.AbstractAsyncContextManager[Editor]]


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    roots = [tmp_path / "one", tmp_path / "two é"]
    for root in roots:
        root.mkdir()
    return roots


@pytest.fixture
def connect(tmp_path: Path, folders: list[Path]) -> Iterator[Connect]:
    """Connects an editor to a server of its own in this process, whose home is in `tmp_path`."""

    @contextlib.asynccontextmanager
    async def connected(
        settings: Any = None,
        *,
        options: Any = None,
        capabilities: dict[str, Any] | None = None,
        wait_s: float = 30.0,
        silent_for: Callable[[dict[str, Any]], None] | None = None,
        shared: Folders | None = None,
        load: Callable[[Mapping[str, str]], Folders] = load_folders,
        **environ: str,
    ) -> AsyncIterator[Editor]:
        """`settings`: what the editor answers for each folder; a function of the folder's URI, or a value.
        `shared`: the services of a server that other editors use too."""
        server = build_server(lambda: shared or load(environ), owns_folders=shared is None)
        server.part(EditorConfiguration).wait_s = wait_s
        async with served(server) as client:
            client.handlers["workspace/configuration"] = lambda params: [
                settings(item["scopeUri"]) if callable(settings) else settings for item in params["items"]
            ]
            client.silent_for = silent_for
            workspace_folders = [{"uri": root.as_uri(), "name": root.name} for root in folders]
            answer = await client.initialize(
                ASKS if capabilities is None else capabilities,
                workspaceFolders=workspace_folders,
                initializationOptions=options,
            )
            assert "result" in answer, answer
            yield Editor(client)

    with in_environment(**home(tmp_path)):
        yield connected


async def budget(ed: Editor) -> int:
    """What a request of the first folder may take: `context.max_tokens`, where that is set."""
    models = (await ed.client.result("palimpsest/model/list", {}))["models"]
    (tokens,) = {model["budgetTokens"] for model in models if model["isDefault"]}
    assert isinstance(tokens, int)
    return tokens


async def model_in(ed: Editor, folder: Path) -> str:
    created = await ed.client.result("palimpsest/conversation/create", {"folder": folder.as_uri()})
    model: str = created["model"]
    return model


def capped(max_tokens: int) -> dict[str, Any]:
    return {"context": {"max_tokens": max_tokens}}


PROJECT = 'model = "gpt-4o"'
KEYS = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}


# -------------------------------------------------------------------------------------------------- editor's settings


async def test_each_place_wins_over_those_before_it(connect: Connect, folders: list[Path], tmp_path: Path) -> None:
    (tmp_path / "config" / "palimpsest").mkdir(parents=True)
    (tmp_path / "config" / "palimpsest" / "config.toml").write_text('model = "claude-haiku-4-5"')
    places = {"options": {"palimpsest": {"trust": True}}, **KEYS}
    async with connect(None, **places) as ed:
        assert await model_in(ed, folders[0]) == "claude-haiku-4-5"
    (folders[0] / ".palimpsest.toml").write_text('model = "gpt-4o"')
    async with connect(None, **places) as ed:
        assert await model_in(ed, folders[0]) == "gpt-4o"
        assert await model_in(ed, folders[1]) == "claude-haiku-4-5"
    async with connect(None, **places, PALIMPSEST_MODEL="gpt-4o-mini") as ed:
        assert await model_in(ed, folders[0]) == "gpt-4o-mini"
    async with connect({"model": "claude-opus-4-5"}, **places, PALIMPSEST_MODEL="gpt-4o-mini") as ed:
        assert await model_in(ed, folders[0]) == "claude-opus-4-5"
        created = await ed.client.result(
            "palimpsest/conversation/create", {"folder": folders[0].as_uri(), "model": "offline"}
        )
        assert created["model"] == "offline"


async def test_each_folder_has_the_settings_the_editor_has_for_it(connect: Connect, folders: list[Path]) -> None:
    first = folders[0].as_uri()
    async with connect(lambda uri: {"model": "gpt-4o"} if uri == first else {"model": "gpt-4o-mini"}, **KEYS) as ed:
        assert await model_in(ed, folders[1]) == "gpt-4o-mini"
        assert await model_in(ed, folders[0]) == "gpt-4o"


async def test_a_change_counts_for_the_next_request_and_so_does_taking_it_back(connect: Connect) -> None:
    now: dict[str, Any] = {"settings": capped(5_000)}
    async with connect(lambda _: now["settings"]) as ed:
        assert await budget(ed) == 5_000
        for settings, expected in ((capped(6_000), 6_000), (None, None), ([], None), (capped(7_000), 7_000)):
            now["settings"] = settings
            ed.client.notify("workspace/didChangeConfiguration", {"settings": None})
            found = await budget(ed)
            assert found == expected if expected is not None else found > 7_000
        assert ed.client.received("window/showMessage") == []


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"context": {"max_tokens": -1}}, "context.max_tokens must be a whole number of at least 0, but is -1."),
        ({"nonsense": 1}, "nonsense is not a setting"),
        ("nonsense", "must be an object"),
    ],
)
async def test_settings_that_cannot_be_meant_are_told_and_those_before_stay(
    connect: Connect, settings: Any, sentence: str
) -> None:
    now: dict[str, Any] = {"settings": capped(5_000)}
    async with connect(lambda uri: now["settings"] if uri.endswith("/one") else None) as ed:
        assert await budget(ed) == 5_000
        now["settings"] = settings
        ed.client.notify("workspace/didChangeConfiguration", {"settings": None})
        told = await ed.client.notification("window/showMessage")
        assert told["type"] == 2
        assert sentence in told["message"]
        assert await budget(ed) == 5_000
        now["settings"] = capped(6_000)
        ed.client.notify("workspace/didChangeConfiguration", {"settings": None})
        assert await budget(ed) == 6_000
        assert len(ed.client.received("window/showMessage")) == 1


async def test_a_misspelt_variable_is_told_once_whatever_is_open(connect: Connect, folders: list[Path]) -> None:
    async with connect(None, PALIMPSEST_CONTEXT_TRESHOLD="0.7") as ed:
        for folder in folders:
            await model_in(ed, folder)
        (told,) = ed.client.received("window/showMessage")
        assert told["message"].endswith("the nearest one is PALIMPSEST_CONTEXT_THRESHOLD.")


async def test_a_model_that_looks_misspelt_is_told_and_used(connect: Connect, folders: list[Path]) -> None:
    async with connect(None, **KEYS, PALIMPSEST_LIBRARIAN_MODEL="gpt-4omni") as ed:
        of = {"folder": folders[0].as_uri()}
        created = await ed.client.result("palimpsest/conversation/create", {**of, "model": "claude-sonet"})
        assert created["model"] == "claude-sonet"
        switched = await ed.client.result(
            "palimpsest/model/switch", {"conversationId": created["conversationId"], "model": "gpt-4oo"}
        )
        assert switched["model"] == "gpt-4oo"
        told = [each["message"] for each in ed.client.received("window/showMessage")]
        assert [
            each for each in told if each.startswith("In the setting librarian.model: No model 'gpt-4omni' of openai")
        ]
        assert [each for each in told if each.startswith("No model 'claude-sonet' of anthropic is known here")]
        assert [each for each in told if each.startswith("No model 'gpt-4oo' of openai is known here")]


async def test_a_login_in_another_terminal_counts_at_once(
    connect: Connect, folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    async with connect(None) as ed:

        async def can_be_used() -> bool:
            listed = (await ed.client.result("palimpsest/model/list", {}))["models"]
            return next(bool(each["isAvailable"]) for each in listed if each["name"] == "gpt-4o")

        assert not await can_be_used()
        await asyncio.to_thread(stored_keys().write, "openai", Key(KEY, None))
        assert await can_be_used()
        of = {"folder": folders[0].as_uri(), "model": "gpt-4o"}
        assert (await ed.client.result("palimpsest/conversation/create", of))["model"] == "gpt-4o"
        await asyncio.to_thread(stored_keys().remove, "openai")
        assert (
            "palimpsest login openai"
            in (await ed.client.request("palimpsest/conversation/create", of))["error"]["message"]
        )


async def test_an_editor_that_cannot_be_asked_sends_its_settings(connect: Connect) -> None:
    options = {"palimpsest": {"settings": capped(5_000)}}
    async with connect(options=options, capabilities={}) as ed:
        assert await budget(ed) == 5_000
        ed.client.notify("workspace/didChangeConfiguration", {"settings": {"palimpsest": capped(6_000)}})
        assert await budget(ed) == 6_000
        assert ed.client.received("workspace/configuration") == []
    async with connect(None, options=options) as ed:
        assert await budget(ed) == 5_000, "null is no answer"
    async with connect(capped(7_000), options=options) as ed:
        assert await budget(ed) == 7_000, "who can be asked is"


async def test_an_editor_that_does_not_answer_blocks_nothing_and_is_heard_when_it_does(connect: Connect) -> None:
    asked: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    async with connect(capped(5_000), silent_for=asked.put_nowait, wait_s=0.01) as ed:
        assert await budget(ed) > 5_000
        ed.client.silent_for = None
        ed.client.reply(await asyncio.wait_for(asked.get(), WAIT_S))
        async with asyncio.timeout(WAIT_S):
            while await budget(ed) != 5_000:
                pass


async def test_an_editor_that_refuses_to_answer_changes_nothing(connect: Connect) -> None:
    async with connect(capped(5_000)) as ed:
        assert await budget(ed) == 5_000
        del ed.client.handlers["workspace/configuration"]
        ed.client.notify("workspace/didChangeConfiguration", {"settings": None})
        assert await budget(ed) == 5_000


async def test_an_answer_that_is_overtaken_by_a_later_one_does_not_count(connect: Connect) -> None:
    asked: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    now: dict[str, Any] = {}
    async with connect(lambda _: now["settings"], silent_for=asked.put_nowait) as ed:
        ed.client.notify("workspace/didChangeConfiguration", {"settings": None})
        first, second = [await asyncio.wait_for(asked.get(), WAIT_S) for _ in range(2)]
        ed.client.silent_for = None
        for question, max_tokens in ((second, 6_000), (first, 5_000)):
            now["settings"] = capped(max_tokens)
            ed.client.reply(question)
        assert await budget(ed) == 6_000


async def test_what_could_not_be_loaded_is_loaded_for_the_next_request(connect: Connect) -> None:
    refusals = [OSError(errno.EMFILE, "Too many open files"), OSError(errno.EMFILE, "Too many open files")]

    def load(environ: Mapping[str, str]) -> Folders:
        if refusals:
            raise refusals.pop()
        return load_folders(environ)

    async with connect(load=load) as ed:
        while refusals:
            refused = await ed.client.request("palimpsest/model/list", {})
            assert "no file handle left" in refused["error"]["message"]
        assert await budget(ed) > 0


async def test_of_two_editors_on_a_server_the_last_one_that_says_something_counts(
    connect: Connect, folders: list[Path]
) -> None:
    (folders[0] / ".palimpsest.toml").write_text(PROJECT)
    shared = await asyncio.to_thread(load_folders, KEYS)
    try:
        trusting = {"palimpsest": {"trust": True}}
        async with connect(capped(5_000), options=trusting, shared=shared) as one:
            assert (await model_in(one, folders[0]), await budget(one)) == ("gpt-4o", 5_000)
            async with connect(None, shared=shared) as silent:
                assert (await model_in(silent, folders[0]), await budget(silent)) == ("gpt-4o", 5_000)
            distrusting = {"palimpsest": {"trust": False}}
            async with connect(capped(6_000), options=distrusting, shared=shared) as two:
                assert await budget(two) == await budget(one) == 6_000
                assert await model_in(one, folders[0]) != "gpt-4o"
                one.client.notify("workspace/didChangeConfiguration", {"settings": None})
                assert await budget(one) == await budget(two) == 5_000
                assert await model_in(one, folders[0]) != "gpt-4o", "of trust is heard when it changes"
    finally:
        await shared.close()


async def test_changes_are_asked_for_where_an_editor_wants_that(connect: Connect) -> None:
    dynamic = {"workspace": {"configuration": True, "didChangeConfiguration": {"dynamicRegistration": True}}}
    async with connect(capped(5_000), capabilities=dynamic) as ed:
        assert await budget(ed) == 5_000
        (asked,) = ed.client.received("client/registerCapability")
        (registration,) = asked["registrations"]
        assert registration["method"] == "workspace/didChangeConfiguration"
        assert registration["registerOptions"] == {"section": "palimpsest"}


async def test_a_folder_that_is_added_has_its_settings_from_the_first_request_on(
    connect: Connect, folders: list[Path], tmp_path: Path
) -> None:
    added = tmp_path / "three"
    added.mkdir()
    (added / ".palimpsest.toml").write_text('model = "gpt-4o"')
    options = {"palimpsest": {"trust": [added.as_uri()]}}
    async with connect(lambda uri: None, options=options, **KEYS) as ed:
        event = {"added": [{"uri": added.as_uri(), "name": "three"}], "removed": []}
        ed.client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        assert await model_in(ed, added) == "gpt-4o"


async def test_the_folder_of_an_editor_that_names_one_by_its_root_stays_when_others_come_and_goes_like_them(
    tmp_path: Path,
) -> None:
    root, other = tmp_path / "one", tmp_path / "two"
    for each in (root, other):
        each.mkdir()
    async with connected_here(**home(tmp_path)) as client:
        await client.initialize({}, rootUri=root.as_uri())

        def change(what: str, folder: Path) -> None:
            event = {"added": [], "removed": [], what: [{"uri": folder.as_uri(), "name": folder.name}]}
            client.notify("workspace/didChangeWorkspaceFolders", {"event": event})

        async def refusal(folder: Path) -> Any:
            answer = await client.request("palimpsest/conversation/list", {"folder": folder.as_uri()})
            return answer.get("error", {}).get("message", "")

        change("added", other)
        assert [await refusal(each) for each in (root, other)] == ["", ""]
        change("removed", root)
        assert "is not in an open workspace folder" in await refusal(root)
        change("removed", other)
        assert "No folder is open" in await refusal(root)


async def test_a_turn_that_runs_goes_on_when_settings_change_and_can_be_stopped(
    connect: Connect, fake: FakeProvider
) -> None:
    """The address of the service, too, is the editor's."""
    base = {"model": "gpt-4o", "providers": {"openai": {"base_url": f"{fake.url}/v1"}}}
    now: dict[str, Any] = {"settings": base}
    async with connect(lambda _: now["settings"], OPENAI_API_KEY=KEY) as ed:
        fake.script.append(STALL)
        request = ed.client.start_request("palimpsest/chat", Editor.chat_params("question", partialResultToken="p"))
        await asyncio.wait_for(fake.stalled.wait(), WAIT_S)
        await ed.until_shown("p", STALLED_TEXT)
        now["settings"] = base | capped(5_000)
        ed.client.notify("workspace/didChangeConfiguration", {"settings": None})
        assert await budget(ed) == 5_000
        assert not request.is_answered
        first = ed.shown("p")[0]
        conversation = {"conversationId": first["conversationId"]}
        assert (await ed.client.result("palimpsest/usage", conversation))["budgetTokens"] == 5_000
        assert await ed.client.result("palimpsest/turn/cancel", {"turnId": first["turnId"]}) == {"status": "cancelled"}
        assert (await request.answer())["result"]["status"] == "cancelled"
        page = await ed.read(first["conversationId"])
        assert [message["text"] for message in page["messages"]] == ["question", STALLED_TEXT]
        answer = await ed.chat("again", conversationId=first["conversationId"])
        assert answer["result"]["status"] == "committed"


# -------------------------------------------------------------------------------------------------------------- trust


@pytest.mark.parametrize(
    ("options", "is_trusted"),
    [
        (None, False),
        ({"palimpsest": {}}, False),
        ({"palimpsest": {"trust": True}}, True),
        ({"palimpsest": {"trust": "true"}}, False),
        ({"palimpsest": {"trust": ["file:///elsewhere", 5]}}, False),
        ({"palimpsest": {"trust": ["file:///elsewhere", "untitled:one"]}}, False),
        ({"palimpsest": "trust"}, False),
        ({"somebody": {"trust": True}}, False),
        (["palimpsest"], False),
    ],
)
async def test_a_folder_is_trusted_only_when_the_editor_says_so_plainly(
    connect: Connect, folders: list[Path], options: Any, is_trusted: bool
) -> None:
    (folders[0] / ".palimpsest.toml").write_text(PROJECT)
    async with connect(options=options, **KEYS) as ed:
        assert (await model_in(ed, folders[0]) == "gpt-4o") is is_trusted
        told = [each["message"] for each in ed.client.received("window/showMessage") if "ignored" in each["message"]]
        assert len(told) == (0 if is_trusted else 1)
        await model_in(ed, folders[0])
        assert len(ed.client.received("window/showMessage")) == len(told) + sum(
            "initializationOptions" in each["message"] for each in ed.client.received("window/showMessage")
        )


async def test_the_users_list_counts_where_the_editor_is_silent_and_only_there(
    connect: Connect, folders: list[Path]
) -> None:
    (folders[0] / ".palimpsest.toml").write_text(PROJECT)
    trusted_folders().add(folders[0])
    async with connect(**KEYS) as ed:
        assert await model_in(ed, folders[0]) == "gpt-4o"
    for trust in (False, [folders[1].as_uri()], "yes"):
        async with connect(options={"palimpsest": {"trust": trust}}, **KEYS) as ed:
            assert await model_in(ed, folders[0]) != "gpt-4o"


async def test_a_change_of_trust_counts_at_once_for_its_folder_and_survives_other_changes(
    connect: Connect, folders: list[Path]
) -> None:
    for folder in folders:
        (folder / ".palimpsest.toml").write_text(PROJECT)
    async with connect(options={"palimpsest": {"trust": False}}, **KEYS) as ed:
        assert await model_in(ed, folders[0]) != "gpt-4o"
        for is_trusted in (True, False, True):
            params = {"folderUri": folders[0].as_uri(), "isTrusted": is_trusted}
            ed.client.notify("palimpsest/didChangeTrust", params)
            assert (await model_in(ed, folders[0]) == "gpt-4o") is is_trusted
        ed.client.notify("workspace/didChangeConfiguration", {"settings": None})
        assert await model_in(ed, folders[0]) == "gpt-4o"
        assert await model_in(ed, folders[1]) != "gpt-4o"


async def test_a_broken_project_file_is_told_and_the_folder_works(connect: Connect, folders: list[Path]) -> None:
    (folders[0] / ".palimpsest.toml").write_text(PROJECT + "\nnonsense = 1")
    async with connect(capped(5_000), options={"palimpsest": {"trust": True}}) as ed:
        assert await model_in(ed, folders[0]) == "offline"
        assert await budget(ed) == 5_000
        (told,) = ed.client.received("window/showMessage")
        assert f"In {folders[0] / '.palimpsest.toml'}: nonsense is not a setting" in told["message"]
