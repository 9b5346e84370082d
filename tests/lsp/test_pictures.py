"""A pasted picture reaches the model's service in each of the formats as it is kept, and its editor shows it again."""

from __future__ import annotations

import base64
import io
import json
import re
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.lsp.test_own_services import opened

from palimpsest.services.workspace.pictures import LONGEST_EDGE, take
from palimpsest_clients.fake.server import Failure, FakeModels

KINDS = ("openai", "openai-compatible", "anthropic", "gemini", "ollama")


def shot(width: int = 2_400, height: int = 600) -> bytes:
    out = io.BytesIO()
    Image.linear_gradient("L").resize((width, height)).convert("RGB").save(out, "PNG")
    return out.getvalue()


def config(kind: str, url: str, *, sees: bool = True) -> str:
    address = url if kind in ("anthropic", "gemini", "ollama") else f"{url}/v1"
    return f"""
model = "mine/large"

[providers.mine]
kind = "{kind}"
base_url = "{address}"
models = ["large"]

[models."mine/large"]
window = 100000
images = {str(sees).lower()}
"""


def pasted(data: bytes, name: str = "shot.png") -> dict[str, Any]:
    return {"type": "image", "name": name, "data": base64.b64encode(data).decode()}


def pictures_in(body: Any) -> list[bytes]:
    """What looks like a picture in the request of any format."""
    found = re.findall(r'"(?:data:image/\w+;base64,)?((?:iVBOR|/9j/)[A-Za-z0-9+/=]{100,})"', json.dumps(body))
    return [base64.b64decode(each) for each in found]


@pytest.mark.parametrize("text", ["What is this?", ""])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_pasted_picture_reaches_the_service_as_it_is_kept(kind: str, text: str, tmp_path: Path) -> None:
    async with AsyncExitStack() as services:
        fake = await services.enter_async_context(FakeModels())
        ed = await opened(services, tmp_path, config(kind, fake.url), MINE_API_KEY="key-1")
        answer = await ed.chat(text, attachments=[pasted(shot())])
        assert answer["result"]["status"] == "committed", answer
        again = await ed.chat("And this?", conversationId=answer["result"]["conversationId"])
        assert again["result"]["status"] == "committed", again
    kept = take("shot.png", shot())
    asked = [each for each in (pictures_in(each.body) for each in fake.asked if each.body) if each]
    assert asked == [[kept.data], [kept.data]]
    assert (kept.part.width, kept.part.height) == (LONGEST_EDGE, 500)


async def test_an_editor_sees_what_a_picture_costs_and_reads_it_again(tmp_path: Path) -> None:
    async with AsyncExitStack() as services:
        fake = await services.enter_async_context(FakeModels())
        ed = await opened(services, tmp_path, config("anthropic", fake.url), MINE_API_KEY="key-1")
        wanted = [pasted(shot()), pasted(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "logo.svg")]
        estimate = await ed.client.result("palimpsest/attachments/estimate", {"attachments": wanted})
        good, bad = estimate["attachments"]
        assert 72 * 18 <= good["tokens"] < 72 * 18 + 60
        assert "no PNG, JPEG, WebP or GIF" in bad["problem"]
        refused = await ed.chat("both", attachments=wanted)
        assert "Nothing was sent" in refused["error"]["message"]
        answer = await ed.chat("one", attachments=wanted[:1])
        conversation_id = answer["result"]["conversationId"]
        [part, *_] = (await ed.read(conversation_id))["messages"][0]["parts"]
        assert (part["type"], part["text"]) == ("image", '[image "shot.png", 2000x500]')
        of = {"conversationId": conversation_id, "digest": part["digest"]}
        found = await ed.client.result("palimpsest/conversation/picture", of)
        assert base64.b64decode(found["data"]) == take("shot.png", shot()).data
        gone = await ed.client.request("palimpsest/conversation/picture", of | {"digest": "0" * 64})
        assert "not on this machine" in gone["error"]["message"]


async def test_a_model_that_sees_nothing_says_so_and_nothing_is_sent(tmp_path: Path) -> None:
    async with AsyncExitStack() as services:
        fake = await services.enter_async_context(FakeModels())
        ed = await opened(services, tmp_path, config("openai", fake.url, sees=False), MINE_API_KEY="key-1")
        refused = await ed.chat("What is this?", attachments=[pasted(shot())])
        assert "sees no pictures" in refused["error"]["message"]
        listed = await ed.client.result("palimpsest/conversation/list", {})
        assert listed["conversations"] == []
    assert not any(pictures_in(each.body) for each in fake.asked)


async def test_a_service_that_refuses_a_picture_is_explained(tmp_path: Path) -> None:
    async with AsyncExitStack() as services:
        fake = await services.enter_async_context(FakeModels())
        fake.replies = [
            Failure(status=400, message="Invalid content type: image_url is only supported by certain models.")
        ]
        ed = await opened(services, tmp_path, config("openai-compatible", fake.url), MINE_API_KEY="key-1")
        answer = await ed.chat("What is this?", attachments=[pasted(shot())])
        assert "models.large.images" in json.dumps(answer), answer
