"""Of ten questions that one sentence of a folder answers, at least nine get it with path and line; five others none."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from benchmarks.offline_questions import SETS, Answered, QuestionSet, load_set
from tests.clients.contexts import collect, context, user

from palimpsest.domain.messages import ConversationId
from palimpsest.domain.offline.passages import Passage
from palimpsest.services.offline.finding import find_passages
from palimpsest.services.offline.folder_text import FolderText
from palimpsest_clients.offline import OfflineProvider

FERRY = load_set(SETS / "ferry.toml")

_QUOTE = re.compile(r"^`(?P<path>[^`]+):(?P<first>\d+)(?:-(?P<last>\d+))?`\n\n(?P<body>(?:>.*\n)+)", re.M)


@pytest.fixture
def provider(tmp_path: Path) -> OfflineProvider:
    FERRY.write_to(tmp_path)
    folder = FolderText(tmp_path)

    async def find(conversation_id: ConversationId, question: str) -> Sequence[Passage]:
        return await asyncio.to_thread(find_passages, question, folder, ())

    return OfflineProvider(find)


async def ask(provider: OfflineProvider, question: str) -> str:
    answer = await collect(provider.stream(context(user(question))))
    assert answer.error is None
    return answer.text


def quotes_the_answer(text: str, answered: Answered) -> bool:
    for quote in _QUOTE.finditer(text):
        lines = range(int(quote["first"]), int(quote["last"] or quote["first"]) + 1)
        body = "\n".join(line.removeprefix("> ") for line in quote["body"].splitlines())
        if quote["path"] == answered.path and answered.line in lines and answered.sentence in body:
            return True
    return False


def quotes_only_what_is_there(text: str, questions: QuestionSet) -> bool:
    return all(
        line in {"> ```", ">"} or any(line.removeprefix("> ") in file for file in questions.files.values())
        for line in text.splitlines()
        if line.startswith(">")
    )


async def test_nine_of_ten_answers_are_quoted_with_path_and_line(provider: OfflineProvider) -> None:
    assert len(FERRY.answered) == 10
    answers = {answered: await ask(provider, answered.question) for answered in FERRY.answered}
    missed = [one.question for one, text in answers.items() if not quotes_the_answer(text, one)]
    assert len(missed) <= 1, missed
    assert all(quotes_only_what_is_there(text, FERRY) for text in answers.values())


@pytest.mark.parametrize("question", FERRY.unanswerable)
async def test_what_nothing_answers_is_declined_without_a_quote(provider: OfflineProvider, question: str) -> None:
    text = await ask(provider, question)
    assert "I found nothing" in text
    assert ">" not in text


async def test_a_file_that_is_named_is_shown_line_by_line(provider: OfflineProvider) -> None:
    text = await ask(provider, "what is in pyproject.toml?")
    assert "`pyproject.toml:1-" in text
    for number, line in enumerate(FERRY.files["pyproject.toml"].rstrip().splitlines(), 1):
        assert f"> {number:>2}  {line}\n" in text


async def test_a_greeting_gets_a_greeting(provider: OfflineProvider) -> None:
    text = await ask(provider, "hello")
    assert text.startswith("Hello.")
    assert ">" not in text
