"""What the offline provider says that is no quote. It tells nothing about the folder or the conversation, so it is left
out of what is made of messages: summaries, facts, what is recalled.

The hints stood in every offline answer once, and messages never change.
"""

from __future__ import annotations

from typing import Final

FOUND: Final = "I found this:"
NO_ROOM: Final = "I found something, but this answer may not be long enough to quote it."
NOTHING: Final = (
    "I found nothing in this folder's files or in this conversation that answers this, and I do not guess. "
    "Other words may help: I look for the words of the question."
)
HELLO: Final = (
    "Hello. I cannot chat, but I can look things up: ask a question, and I answer with exact quotes from this "
    "folder's files and from this conversation, each with its place. Name a file, and I show how it begins."
)
WELCOME: Final = "You are welcome. Ask again whenever something is to be looked up."

_OLD_HINTS: Final = (
    "No model can be used yet: run `palimpsest login anthropic` (or openai, gemini); or set ANTHROPIC_API_KEY, "
    "OPENAI_API_KEY or GEMINI_API_KEY (OPENAI_BASE_URL for another service of that kind) and start again; or get a "
    "model with `ollama pull`, set OLLAMA_HOST (such as localhost:11434) and start again.",
    "No model is configured: run `palimpsest login anthropic` (or openai, gemini), or set ANTHROPIC_API_KEY, "
    "OPENAI_API_KEY or GEMINI_API_KEY, and start again.",
    "No model is configured: set ANTHROPIC_API_KEY or OPENAI_API_KEY and start again.",
)
_FIXED: Final = (*_OLD_HINTS, NO_ROOM, NOTHING, HELLO, WELCOME)
_SHORTEST: Final = 20
"""Characters of a beginning by which such a text is known."""
_ONE_BY_ONE: Final = [f"{each.rstrip('.')}." for text in (NOTHING, HELLO) for each in text.split(". ")]
"""A long text is cut between sentences."""
_SENTENCES: Final = (*_FIXED, *(each for each in _ONE_BY_ONE if len(each) >= _SHORTEST))
_BEGINNINGS: Final = tuple(text[:_SHORTEST] for text in _SENTENCES)


def without_fixed_texts(text: str) -> str:
    """An answer without them; what is left as it stands, and empty where there was nothing else."""
    if not any(beginning in text for beginning in _BEGINNINGS):
        return text
    for each in _SENTENCES:
        text = text.replace(each, "")
    return text.strip()


def is_fixed(line: str) -> bool:
    """Whether a line is one of them, or the beginning of one that was cut short."""
    said = line.strip().removesuffix("…").rstrip()
    return len(said) >= _SHORTEST and any(said in text for text in _FIXED)
