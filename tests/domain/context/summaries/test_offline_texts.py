"""What the offline provider says beside its quotes, now and in older stores, gets into nothing made of messages."""

from __future__ import annotations

import pytest
from tests.domain.pages import page_of
from tests.domain.telling import CONVERSATION, assistant, exchange, stored

from palimpsest.domain.context.cut import MessagePiece
from palimpsest.domain.context.summaries.by_model import record
from palimpsest.domain.facts.extraction.by_rules import by_rules
from palimpsest.domain.facts.extraction.from_model import transcript
from palimpsest.domain.messages import user_message
from palimpsest.domain.offline_texts import EMPTY, FOUND, HELLO, NOTHING, PARTIAL, is_fixed, without_fixed_texts

OLD_HINTS = (
    "No model can be used yet: run `palimpsest login anthropic` (or openai, gemini); or set ANTHROPIC_API_KEY, "
    "OPENAI_API_KEY or GEMINI_API_KEY (OPENAI_BASE_URL for another service of that kind) and start again; or get a "
    "model with `ollama pull`, set OLLAMA_HOST (such as localhost:11434) and start again.",
    "No model is configured: run `palimpsest login anthropic` (or openai, gemini), or set ANTHROPIC_API_KEY, "
    "OPENAI_API_KEY or GEMINI_API_KEY, and start again.",
)
OLD_NOTHING = (
    "I found nothing in this folder's files or in this conversation that answers this, and I do not guess. "
    "Other words may help: I look for the words of the question."
)
OLD_HELLO = (
    "Hello. I cannot chat, but I can look things up: ask a question, and I answer with exact quotes from this "
    "folder's files and from this conversation, each with its place. Name a file, and I show how it begins."
)
OLD_WELCOME = "You are welcome. Ask again whenever something is to be looked up."
QUOTE = "I found this:\n\n`src/auth.py:1`\n\n> TIMEOUT = 30\n"
PLACE = "`src/auth.py:1`\n\n> ```\n> TIMEOUT = 30\n> ```"


@pytest.mark.parametrize("said", [NOTHING, EMPTY, HELLO])
def test_an_answer_without_a_place_says_nothing(said: str) -> None:
    assert without_fixed_texts(f"{said}\n") == ""
    assert is_fixed(said[:60] + "…")


def test_of_an_answer_the_places_are_left() -> None:
    assert without_fixed_texts(f"{FOUND}\n\n{PLACE}\n\n{PARTIAL}\n") == PLACE


@pytest.mark.parametrize("hint", OLD_HINTS)
@pytest.mark.parametrize("reply", [OLD_NOTHING, OLD_HELLO, OLD_WELCOME])
def test_an_old_answer_without_quotes_says_nothing(hint: str, reply: str) -> None:
    assert without_fixed_texts(f"{reply}\n\n{hint}\n") == ""


@pytest.mark.parametrize("hint", OLD_HINTS)
def test_of_an_old_answer_the_quotes_are_left(hint: str) -> None:
    assert without_fixed_texts(f"{QUOTE}\n{hint}\n") == QUOTE.strip()
    cut = " ".join(f"{QUOTE}\n{hint}\n".split())
    assert "login" not in without_fixed_texts(cut)


def test_other_text_is_left_alone() -> None:
    said = "Hello. No model can be used yet, because the key is missing: run `make setup`."
    assert without_fixed_texts(said) == said
    assert not is_fixed(said)
    assert not is_fixed("I found")


@pytest.mark.parametrize("hint", OLD_HINTS)
def test_a_summary_is_made_of_the_quotes(hint: str) -> None:
    said = [user_message("In src/auth.py the function login must return 401."), assistant(f"{QUOTE}\n{hint}\n")]
    said += [user_message("And which colour is the pump?"), assistant(f"{OLD_NOTHING}\n\n{hint}\n")]
    pieces = [MessagePiece(each, 40) for each in stored(said)]
    text = page_of(said)
    assert "src/auth.py" in text
    for word in ("API_KEY", "login anthropic", "do not guess", "Other words"):
        assert word not in text
    assert not any("API_KEY" in record(piece, 1_000) for piece in pieces)


@pytest.mark.parametrize("hint", OLD_HINTS)
def test_no_fact_is_made_of_them(hint: str) -> None:
    told = exchange(user_message("Which pump is it?"), assistant(f"{OLD_NOTHING}\n\n{hint}\n"))
    assert by_rules(told) == ()
    assert "API_KEY" not in transcript(told, 400)
    assert told.conversation_id == CONVERSATION
