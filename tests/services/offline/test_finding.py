"""What is quoted to the user comes from the folder and the conversation, and never from the asking itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from palimpsest.domain.messages import MessageId, Role
from palimpsest.domain.offline.passages import HistoryLine
from palimpsest.services.offline.finding import find_passages
from palimpsest.services.offline.folder_text import FolderText

ASK = "Which port does the staging server use?"


def said(message_id: int, role: Role, text: str, model: str | None = None) -> HistoryLine:
    return HistoryLine(MessageId(message_id), role, text, model)


@pytest.fixture
def folder(tmp_path: Path) -> FolderText:
    (tmp_path / "ops.md").write_text("# Ops\n\nThe staging server uses port 9000.\n")
    (tmp_path / "pool.toml").write_text("[pool]\nsize = 18\n")
    (tmp_path / ".env").write_text("PORT=9000\n")
    return FolderText(tmp_path)


def places(question: str, folder: FolderText, *history: HistoryLine) -> list[str]:
    return [passage.place for passage in find_passages(question, folder, history)]


def test_files_and_messages_are_searched_together(folder: FolderText) -> None:
    told = said(4, Role.USER, "From now on the staging server has to use port 9001.")
    assert set(places(ASK, folder, told)) == {"ops.md:3", "message 4"}


def test_the_question_and_what_was_only_asked_are_not_quoted(folder: FolderText) -> None:
    asked = [said(0, Role.USER, ASK), said(2, Role.USER, "tell me which port the staging server uses")]
    assert places(ASK, folder, *asked) == ["ops.md:3"]


def test_a_search_for_words_does_not_find_itself(folder: FolderText) -> None:
    searches = [said(0, Role.USER, "turbine blade coating thickness"), said(2, Role.USER, "turbine coating")]
    assert places("turbine blade coating thickness", folder, *searches) == []


def test_the_offline_providers_own_answers_are_not_quoted(folder: FolderText) -> None:
    text = "The turbine blade coating is two millimetres."
    question = "How thick is the turbine blade coating?"
    assert places(question, folder, said(1, Role.ASSISTANT, text, "offline")) == []
    assert places(question, folder, said(1, Role.ASSISTANT, text, "model-x")) == ["message 1"]


def test_each_question_of_a_message_is_answered(folder: FolderText) -> None:
    found = places(f"I am new. {ASK} And what is the size of the pool?", folder)
    assert set(found) >= {"ops.md:3", "pool.toml:2"}


def test_a_file_that_is_asked_for_is_shown_whole(folder: FolderText) -> None:
    (head,) = find_passages("what is in pool.toml?", folder, ())
    assert (head.place, head.text, head.n_source_lines) == ("pool.toml:1-2", "[pool]\nsize = 18", 2)


def test_a_file_that_must_not_be_read_is_not_shown_and_nothing_else_instead(folder: FolderText) -> None:
    assert places("what is in .env?", folder) == []


def test_a_file_that_is_named_is_shown_where_a_question_of_few_words_finds_nothing_in_it(folder: FolderText) -> None:
    assert places("what type is used in pool.toml", folder) == ["pool.toml:1-2"]
    assert places("what salary is in pool.toml", folder) == []
