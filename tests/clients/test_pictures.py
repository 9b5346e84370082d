"""Each format carries a picture, its name and its bytes, in a message and in the result of a tool; without the bytes,
the model gets the line that names it."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.clients.contexts import assistant, context, user

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import Content, Digest, ImagePart, Role, TextPart, ToolCallPart, tool_result
from palimpsest_clients import anthropic, gemini, ollama
from palimpsest_clients.fake.anthropic import Anthropic
from palimpsest_clients.fake.chat import Chat
from palimpsest_clients.fake.dialect import Dialect
from palimpsest_clients.fake.gemini import Gemini
from palimpsest_clients.fake.responses import Responses
from palimpsest_clients.fake.service import Asked
from palimpsest_clients.openai import chat_completions, responses

PNG, JPEG = b"\x89PNG\r\n\x1a\nlogin", b"\xff\xd8\xffshot"
LOGIN = ImagePart("login.png", Digest("1" * 64), "image/png", 1_200, 800, len(PNG))
SHOT = ImagePart("shot", Digest("2" * 64), "image/jpeg", 640, 480, len(JPEG))
PICTURES = {each.digest: base64.b64encode(data).decode() for each, data in ((LOGIN, PNG), (SHOT, JPEG))}
CALL = ToolCallPart("call_1", "read_file", '{"path": "a"}')
SHOWN = (
    Content(Role.USER, (LOGIN, TextPart("What is wrong here?"))),
    assistant(CALL, ToolCallPart("call_2", "read_file", '{"path": "b"}')),
    tool_result(CALL, "the page", images=[SHOT]),
    tool_result(ToolCallPart("call_2", "read_file", ""), "plain"),
    user("And now?"),
)

Body = Callable[[PreparedContext], dict[str, Any]]
FORMATS: Mapping[str, Body] = {
    "anthropic": anthropic.request_body,
    "responses": responses.request_body,
    "chat": lambda asked: chat_completions.request_body(asked, "p"),
    "gemini": gemini.request_body,
    "ollama": lambda asked: ollama.request_body(asked, 8_192),
}


def asked(*contents: Content, pictures: Mapping[Digest, str] = PICTURES) -> PreparedContext:
    return replace(context(*contents), pictures=pictures)


def strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in value.values():
                yield from strings(each)
        case list():
            for each in value:
                yield from strings(each)


def bytes_in(body: Any) -> list[bytes]:
    """The pictures of a request, decoded, in its order."""
    found = [each.rpartition(";base64,")[2] for each in strings(body)]
    return [base64.b64decode(each) for each in found if each in PICTURES.values()]


@pytest.mark.parametrize("name", FORMATS)
def test_pictures_arrive_as_they_are_behind_their_names(name: str) -> None:
    body = FORMATS[name](asked(*SHOWN))
    assert sorted(bytes_in(body)) == sorted([PNG, JPEG])
    written = "\n".join(strings(body))
    assert written.count(LOGIN.line()) == written.count(SHOT.line()) == 1
    assert written.index(LOGIN.line()) < written.index("What is wrong here?")


@pytest.mark.parametrize("name", FORMATS)
def test_a_model_that_gets_no_bytes_gets_the_line(name: str) -> None:
    body = FORMATS[name](asked(*SHOWN, pictures={}))
    assert bytes_in(body) == []
    assert LOGIN.line() in "\n".join(strings(body))
    assert "image_url" not in json.dumps(body)


@pytest.mark.parametrize(
    ("name", "dialect"), [("anthropic", Anthropic()), ("responses", Responses()), ("chat", Chat())]
)
def test_the_service_takes_the_order(name: str, dialect: Dialect) -> None:
    paths = {"anthropic": "/v1/messages", "responses": "/v1/responses", "chat": "/v1/chat/completions"}
    headers = {"anthropic-version": "2026-10-21"}
    dialect.check(Asked("POST", paths[name], headers, FORMATS[name](asked(*SHOWN)), 1))


def test_gemini_takes_the_order() -> None:
    body = gemini.request_body(asked(*SHOWN))
    Gemini().check(Asked("POST", "/v1beta/models/model-x:streamGenerateContent?alt=sse", {}, body, 1))


def test_a_result_of_a_tool_holds_its_picture_where_the_format_allows_it() -> None:
    messages = anthropic.request_body(asked(*SHOWN))["messages"]
    results = {block["tool_use_id"]: block["content"] for block in messages[2]["content"] if "tool_use_id" in block}
    assert [block["type"] for block in results["call_1"]] == ["text", "text", "image"]
    assert results["call_2"] == "plain"
    outputs = [item["output"] for item in responses.request_body(asked(*SHOWN))["input"] if "output" in item]
    assert [part["type"] for part in outputs[0]] == ["input_text", "input_text", "input_image"]
    assert outputs[1] == "plain"


def test_a_text_stays_a_plain_text_for_services_that_take_nothing_else() -> None:
    body = chat_completions.request_body(asked(user("one"), user("two")), "p")
    assert body["messages"][-1]["content"] == "one\n\ntwo"
