"""Token counts are exact without a network, or say that they are not."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from palimpsest.domain.context.tokens import count_bytes, count_content
from palimpsest.domain.messages import ToolCallPart, tool_result, user_message
from palimpsest.services.models.tokenizers import Tokenizers, load_tokenizer


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize(("name", "n_tokens"), [("cl100k_base", 10), ("o200k_base", 11)])
def test_the_vocabularies_load_without_a_network_and_count_as_published(
    tmp_path: Path, name: str, n_tokens: int
) -> None:
    tokenizer = load_tokenizer(name, tmp_path)
    assert tokenizer.name == name
    # "Hello, world!" is 4 tokens by both; the rest is a special token's text, which must not be one here.
    assert tokenizer.count("Hello, world!") == 4
    assert tokenizer.count("Hello, world! <|endoftext|>") == n_tokens


def test_a_damaged_vocabulary_is_replaced_not_fetched(tmp_path: Path) -> None:
    load_tokenizer("cl100k_base", tmp_path)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:1000])
    assert load_tokenizer("cl100k_base", tmp_path).name == "cl100k_base"
    assert file.read_bytes() == whole


def test_where_none_loads_bytes_are_counted_and_the_name_says_so(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    tokenizer = load_tokenizer("cl100k_base", blocked)
    assert tokenizer.name == "bytes"
    assert tokenizer.count("漢字") == count_bytes("漢字") == 2


async def test_each_tokenizer_is_loaded_once(tmp_path: Path) -> None:
    tokenizers = Tokenizers(tmp_path)
    assert await tokenizers.get("cl100k_base") is await tokenizers.get("cl100k_base")


async def test_large_messages_are_counted_like_small_ones(tmp_path: Path) -> None:
    tokenizer = await Tokenizers(tmp_path).get("cl100k_base")
    contents = [user_message("word " * 10_000), tool_result(ToolCallPart("1", "read", "{}"), "x" * 50_000)]
    assert await tokenizer.count_contents(contents) == [count_content(c, tokenizer.count) for c in contents]


def test_a_large_text_of_ordinary_lines_is_counted_exactly_however_often(tmp_path: Path) -> None:
    count = load_tokenizer("cl100k_base", tmp_path).count
    text = "def pump(value_1: int) -> None:  # it is wet\n\n    return  value_1\n" * 4_000
    assert len(text) > 200_000
    exact = count(text[: len(text) // 4_000]) * 4_000
    assert [count(text), count(text)] == [exact, exact]


def test_a_line_without_an_end_is_counted_in_slices_and_hardly_differs(tmp_path: Path) -> None:
    count = load_tokenizer("cl100k_base", tmp_path).count
    line = "the pump is on; " * 8_000
    sliced, whole = count(line), count(line[:99_200])
    assert whole * len(line) / 99_200 <= sliced <= 1.02 * whole * len(line) / 99_200
