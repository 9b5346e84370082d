"""The sentences of the offline provider that are no quotes. They say nothing about the folder or the conversation, so
they are left out of everything that is made of messages: summaries, facts, what is recalled.

Messages never change, so the sentences of earlier versions count as well.
"""

from __future__ import annotations

from typing import Final

_SEARCH: Final = "This is a search, not the answer of a model."
FOUND: Final = f"{_SEARCH} These places mention it:"
NOTHING: Final = (
    f"{_SEARCH} Nothing in this folder's files, in this conversation or among the facts mentions it. "
    "Try words that occur in the files, such as a name from the code."
)
EMPTY: Final = (
    f"{_SEARCH} There are no text files in this folder to search, and nothing in this conversation mentions it. "
    "Files that are ignored, binary or larger than 1 MiB are left out. Add files, or open another folder."
)
HELLO: Final = (
    "Hello. This is a search, not a model: it looks for the words of your message in this folder's files, in this "
    "conversation and among the facts, and shows the places that mention them. Ask with words that occur there."
)
PARTIAL: Final = "This folder is large, so only a part of its files was searched."

_EARLIER: Final = (
    "No model can be used yet: run `palimpsest login anthropic` (or openai, gemini); or set ANTHROPIC_API_KEY, "
    "OPENAI_API_KEY or GEMINI_API_KEY (OPENAI_BASE_URL for another service of that kind) and start again; or get a "
    "model with `ollama pull`, set OLLAMA_HOST (such as localhost:11434) and start again.",
    "No model is configured: run `palimpsest login anthropic` (or openai, gemini), or set ANTHROPIC_API_KEY, "
    "OPENAI_API_KEY or GEMINI_API_KEY, and start again.",
    "No model is configured: set ANTHROPIC_API_KEY or OPENAI_API_KEY and start again.",
    "I found something, but this answer may not be long enough to quote it.",
    "I found nothing in this folder's files or in this conversation that answers this, and I do not guess. "
    "Other words may help: I look for the words of the question.",
    "Hello. I cannot chat, but I can look things up: ask a question, and I answer with exact quotes from this "
    "folder's files and from this conversation, each with its place. Name a file, and I show how it begins.",
    "You are welcome. Ask again whenever something is to be looked up.",
)
_FIXED: Final = (*_EARLIER, FOUND, NOTHING, EMPTY, HELLO, PARTIAL)
_SHORTEST: Final = 20
"""Characters of a beginning by which such a text is known."""
_ONE_BY_ONE: Final = [each for text in _FIXED for each in text.replace(". ", ".\n").split("\n")]
"""A long text is cut between sentences."""
_SENTENCES: Final = (*_FIXED, *(each for each in dict.fromkeys(_ONE_BY_ONE) if len(each) >= _SHORTEST))
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
