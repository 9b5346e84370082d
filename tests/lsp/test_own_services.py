"""Services under names of the user's own: each is asked at its own address, with its own key and no other."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.lsp.in_process import connected_here
from tests.lsp.real_server import Editor, home
from tests.slow import slow

from palimpsest.app.settings_files import load_settings
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.models.providers import KINDS, PRESETS, configured
from palimpsest_clients.fake.server import DIALECTS, Failure, FakeModels

SET, LIST, SERVICES = "palimpsest/credentials/set", "palimpsest/model/list", "palimpsest/credentials/list"
KEYS = {"work": "key-of-work-1111", "spare": "key-of-spare-2222"}


def two_services(first: str, second: str) -> str:
    return f"""
model = "work/large"

[providers.work]
base_url = "{first}/v1"
auth = "api-key"
headers = ["X-Team: compilers"]
models = ["large"]

[providers.spare]
kind = "anthropic"
base_url = "{second}"
"""


async def opened(services: AsyncExitStack, directory: Path, config: str, **more: str) -> Editor:
    """An editor on a server whose user has this file of settings."""
    folder = directory / "project"
    folder.mkdir(exist_ok=True)
    environ = home(directory, **more, PYTHON_KEYRING_BACKEND="keyring.backends.null.Keyring")
    file = Path(environ["XDG_CONFIG_HOME"]) / "palimpsest" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(config)
    client = await services.enter_async_context(connected_here(**environ))
    answer = await client.initialize(workspaceFolders=[{"uri": folder.as_uri(), "name": "project"}])
    assert "result" in answer, answer
    return Editor(client)


async def ask(ed: Editor, model: str) -> dict[str, Any]:
    created = await ed.client.result("palimpsest/conversation/create", {"model": model})
    answer: dict[str, Any] = await ed.chat("Good day", conversationId=created["conversationId"])
    return answer


def keys_seen_by(fake: FakeModels) -> set[str]:
    """The keys in any header, path or body of any request."""
    heard = " ".join(json.dumps([dict(each.headers), each.target, str(each.body)]) for each in fake.asked)
    return {name for name, key in KEYS.items() if key in heard}


async def test_each_key_is_seen_by_its_own_service_alone(tmp_path: Path) -> None:
    async with AsyncExitStack() as services:
        work, spare = [await services.enter_async_context(FakeModels()) for _ in range(2)]
        ed = await opened(services, tmp_path, two_services(work.url, spare.url), SPARE_API_KEY=KEYS["spare"])
        await ed.client.result(SET, {"provider": "work", "key": KEYS["work"]})
        for model in ("work/large", "spare/claude-haiku-4-5"):
            assert (await ask(ed, model))["result"]["status"] == "committed"
        listed = {each["provider"]: each for each in (await ed.client.result(SERVICES, {}))["services"]}
    assert (keys_seen_by(work), keys_seen_by(spare)) == ({"work"}, {"spare"})
    assert all(each.headers["x-team"] == "compilers" for each in work.asked)
    assert not any("x-team" in each.headers for each in spare.asked)
    assert {each.headers.get("api-key") for each in work.asked} == {KEYS["work"]}
    assert {name: listed[name]["source"] for name in KEYS} == {"work": "editor", "spare": "environment"}
    assert all(listed[name]["isReady"] and not listed[name]["isUsualAddress"] for name in KEYS)


@pytest.mark.parametrize("status", [301, 302, 303, slow(307), slow(308)])
async def test_a_redirect_to_elsewhere_is_not_followed(tmp_path: Path, status: int) -> None:
    async with AsyncExitStack() as services:
        work, elsewhere = [await services.enter_async_context(FakeModels()) for _ in range(2)]
        ed = await opened(services, tmp_path, two_services(work.url, "http://127.0.0.1:9"))
        await ed.client.result(SET, {"provider": "work", "key": KEYS["work"]})
        to = {"location": f"{elsewhere.url}/v1/chat/completions", "x-should-retry": "false"}
        work.replies += [Failure(status, to)] * 3
        refused = await ask(ed, "work/large")
    assert refused["error"]["data"]["kind"] == "bad_response"
    assert elsewhere.asked == []


async def test_a_service_that_wants_no_key_is_asked_without_one(tmp_path: Path) -> None:
    class Open(type(DIALECTS[-1])):  # type: ignore[misc]  # the dialect of Chat Completions, whichever its class is
        def has_key(self, headers: Any) -> bool:
            return not any("key" in name or name == "authorization" for name in headers)

    async with AsyncExitStack() as services:
        box = await services.enter_async_context(FakeModels([Open()]))
        config = f'model = "box/any"\n[providers.box]\nbase_url = "{box.url}/v1"\n'
        ed = await opened(services, tmp_path, config, OPENAI_API_KEY=KEYS["work"])
        assert (await ask(ed, "box/any"))["result"]["status"] == "committed"
    assert keys_seen_by(box) == set()


async def test_the_models_that_the_user_names_come_first(tmp_path: Path) -> None:
    async with AsyncExitStack() as services:
        box = await services.enter_async_context(FakeModels())
        config = f'[providers.box]\nbase_url = "{box.url}/v1"\nmodels = ["mine", "other"]\nwindow = 16384\n'
        ed = await opened(services, tmp_path, config, BOX_API_KEY=KEYS["work"])
        listed = {each["name"]: each for each in (await ed.client.result(LIST, {}))["models"]}
        made = await ed.client.result("palimpsest/conversation/create", {})
    assert made["model"] == "box/mine"
    assert listed["box/other"]["isAvailable"]
    assert listed["box/other"]["windowTokens"] == 16384


# ------------------------------------------------------------------------------------------------ what may be written


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('[providers."Big Box"]\nbase_url = "http://x/v1"', "cannot be the name of a service"),
        ('[providers.offline]\nbase_url = "http://x/v1"', "cannot be the name of a service"),
        ('[providers.a]\nheaders = ["Authorization: Bearer abc"]', "keys are not read from settings"),
        ('[providers.a]\nheaders = ["no colon"]', "must hold texts such as"),
        ('[providers.a]\nheaders = ["X-A: b\\r\\nX-C: d"]', "must be a list"),
        ('[providers.a]\nkey_variable = "sk-1234-5678"', "must be the name of a variable"),
        ('[providers.a]\nkind = "soap"', '"openai-compatible" or "openai"'),
        ('[providers.a]\napi_key = "sk-1234-5678"', "looks like a key"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(tmp_path: Path, written: str, said: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(written)
    with pytest.raises(InvalidRequest) as caught:
        load_settings(file, None, {}, None)
    assert said in str(caught.value)
    assert "config.toml" in str(caught.value) or "providers.NAME" in str(caught.value)
    assert "sk-1234-5678" not in str(caught.value)


def test_a_project_names_no_service(tmp_path: Path) -> None:
    project = tmp_path / ".palimpsest.toml"
    project.write_text('[providers.work]\nbase_url = "http://127.0.0.1:9/v1"\n')
    with pytest.raises(InvalidRequest, match="may not be set by a project"):
        load_settings(tmp_path / "config.toml", project, {}, None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_decides_how_a_service_is_asked_and_where_its_key_stands(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        f'[providers.mine]\nkind = "{kind}"\nbase_url = "http://x/v1"\n[providers.openai]\nkind = "{kind}"\n'
    )
    entries = configured(load_settings(file, None, {}, None).providers, {})
    own = entries["mine"]
    assert (own.format, own.is_moved, own.needs_key) == (KINDS[kind], True, False)
    assert own.takes_key is (kind != "ollama")
    assert entries["openai"].format == KINDS[kind]


def test_presets_are_there_by_name_and_wait_for_a_key_or_an_address() -> None:
    entries = configured({}, {"VLLM_BASE_URL": "http://localhost:8000/v1"})
    assert [name for name in entries if entries[name].is_moved] == ["vllm"]
    for preset in PRESETS:
        assert preset.address.startswith(("https://", "http://localhost:")) or not preset.address
        assert preset.name in preset.hint or preset.address_variable in preset.hint
