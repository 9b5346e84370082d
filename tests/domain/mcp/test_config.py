"""A server does exactly what its configuration says and its approval shows, and no key is part of either."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from palimpsest.domain.approvals import Answer, Rule, decide
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.mcp.config import (
    Origin,
    ServerConfig,
    fill_in,
    filled_in,
    is_name,
    read_user_table,
    start_request,
    to_name,
)
from palimpsest.domain.mcp.folder_files import MAX_FILE_BYTES, read_file, together


def test_a_server_of_the_users_settings_is_read_as_it_is_written() -> None:
    table = {"command": "npx", "args": ["-y", "-y", "server"], "env": {"A": "1"}, "trusted": True, "tools": ["echo"]}
    config = read_user_table("every-thing", table)
    assert config.command == ("npx", "-y", "-y", "server")
    assert (config.is_trusted, config.tools, config.needs_approval) == (True, ("echo",), False)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ({}, "either a `command` or a `url`"),
        ({"command": "a", "url": "http://b/"}, "either a `command` or a `url`"),
        ({"command": "a", "argz": []}, "argz"),
        ({"command": "a", "args": "b"}, "args"),
        ({"command": "${SHELL}"}, "must be the name or the path of a program"),
        ({"command": "a", "timeout_s": 0}, "from 1 to"),
        ({"url": "ftp://host/"}, "http:// or https://"),
        ({"url": "https://user:word@host/"}, "no user"),
        ({"url": "https://host/", "headers": {"a b": "c"}}, "cannot be sent"),
        ({"url": "https://host/", "headers": {"a": "b\r\nc: d"}}, "cannot be sent"),
        ({"url": "https://host/", "headers": {"Authorization": "Bearer abc"}}, "keys are not read from settings"),
        ({"command": "a", "env": {"GITHUB_TOKEN": "abc"}}, "keys are not read from settings"),
        ({"command": "a", "env": {"A=B": "c"}}, "without a name, or with `=`"),
        ({"command": "a", "args": ["b\0c"]}, "a text"),
    ],
)
def test_a_mistake_in_the_users_settings_is_a_sentence(table: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_user_table("one", table)
    assert sentence in str(refused.value)
    assert "abc" not in str(refused.value), "a key is never quoted"


@pytest.mark.parametrize("name", ["", "1a", "a b", "a__b", "a_", "editor_x", "a" * 31, "é", "a.b"])
def test_names_that_would_make_no_name_of_a_tool_are_refused(name: str) -> None:
    assert not is_name(name)
    assert is_name(to_name(name))


def test_variables_are_filled_in_and_a_missing_one_is_named() -> None:
    environ = {"TOKEN": "s3cret", "EMPTY": ""}
    text = "Bearer ${TOKEN} ${env:TOKEN} ${EMPTY:-else} ${NONE:-} ${workspaceFolder}/x $TOKEN"
    assert fill_in(text, environ, "/f") == "Bearer s3cret s3cret else  /f/x $TOKEN"
    for wrong, named in (("${NONE}", "NONE"), ("${input:key}", "input:key"), ("${}", "${}")):
        with pytest.raises(InvalidRequest, match=named.replace("$", r"\$").replace("{", r"\{")):
            fill_in(wrong, environ, "/f")


def test_what_a_variable_holds_can_break_no_header_and_lead_to_no_other_program() -> None:
    config = read_user_table("a", {"url": "https://host/", "headers": {"Authorization": "Bearer ${TOKEN}"}})
    with pytest.raises(InvalidRequest, match="cannot be sent"):
        filled_in(config, {"TOKEN": "x\r\nHost: elsewhere"}, "/f")
    with pytest.raises(InvalidRequest, match="no user"):
        filled_in(replace(config, url="https://${HOST}/", headers={}), {"HOST": "a:b@elsewhere"}, "/f")


def test_an_approval_holds_for_exactly_one_command() -> None:
    asked = ServerConfig("a", Origin.PROJECT, ("npx", "server", "--root", "."), env={"T": "${T}"})
    words = start_request(asked).words
    rules = [Rule(start_request(asked).tool, words, Answer.ALWAYS)]
    assert decide(rules, start_request(asked)) is Answer.ALWAYS
    for other in (
        replace(asked, command=("npx", "server", "--root", ".", "--more")),
        replace(asked, command=("npx", "server", "--root", "/")),
        replace(asked, command=("npx", "server --root .")),
        replace(asked, env={"T": "${U}"}),
        replace(asked, cwd="sub"),
        replace(asked, name="b"),
    ):
        assert decide(rules, start_request(other)) is None, other


def test_what_is_shown_hides_nothing_and_holds_no_key() -> None:
    config = ServerConfig("a", Origin.PROJECT, ("run", "x\u202ey", "a b"), env={"T": "${TOKEN}"}, cwd="s")
    shown = start_request(config).shown
    assert shown == "run 'x⟨U+202E⟩y' 'a b'\nin the folder s\nwith the variable T=${TOKEN}"


# -------------------------------------------------------------------------------------------------- files of the folder


def test_both_files_are_read_as_their_authors_write_them() -> None:
    project = {"mcpServers": {"one": {"command": "a", "args": ["b"]}, "web": {"type": "http", "url": "https://h/"}}}
    found = read_file(Origin.PROJECT, json.dumps(project))
    assert [each.name for each in found.servers] == ["one", "web"]
    assert not found.problems
    text = """{
        // a comment, and "quotes"
        "inputs": [],
        "servers": { /* two
            lines */ "My Server": {"command": "run", "args": ["http://not-a-comment", ",]",], "gallery": true,},
        },
    }"""
    (server,) = read_file(Origin.VSCODE, text).servers
    assert (server.name, server.command) == ("My-Server", ("run", "http://not-a-comment", ",]"))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"mcpServers": []}', '{"mcpServers": 3}', "\0"])
def test_a_file_that_is_none_is_a_sentence(text: str) -> None:
    found = read_file(Origin.PROJECT, text)
    assert not found.servers
    assert all(".mcp.json" in each for each in found.problems)
    assert found.problems or text == '{"mcpServers": []}'


def test_a_string_without_an_end_is_read_once() -> None:
    (problem,) = read_file(Origin.PROJECT, '"' + '\\"' * (MAX_FILE_BYTES // 2)).problems
    assert "not JSON" in problem


def test_one_bad_server_costs_no_other() -> None:
    servers = {"bad": {"args": []}, "old": {"type": "sse", "url": "https://h/"}, "a b": {"command": "x"}}
    servers |= {"a.b": {"command": "y"}, "good": {"command": "z"}}
    found = read_file(Origin.PROJECT, json.dumps({"mcpServers": servers}))
    assert [each.name for each in found.servers] == ["a-b", "good"]
    assert len(found.problems) == 3
    assert "sse" in found.problems[1]


def test_the_users_own_server_wins_over_one_of_a_file() -> None:
    mine, theirs = ServerConfig("a", command=("mine",)), ServerConfig("a", Origin.PROJECT, ("theirs",))
    both = read_file(Origin.PROJECT, json.dumps({"mcpServers": {"a": {"command": "theirs"}}}))
    found = together([type(both)((mine,)), both])
    assert found.servers == (mine,)
    assert theirs.origin.value in found.problems[0]
