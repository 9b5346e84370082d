"""The words that a search looks for in answer to a user's message."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from palimpsest.domain.facts.retrieval.words import Terms, to_terms
from palimpsest.domain.language.lexicon import STOP
from palimpsest.domain.language.words import all_pieces

_UNSPACED: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]{2,}")
"""Words of scripts that put no space between words."""
_LONGEST_GREETING: Final = 200
"""Characters."""
_FEWEST_WORDS: Final = 4
"""A user's message of fewer words says nothing by itself."""
_LOOKED_AT: Final = 1_000
"""Characters of an earlier message that are read to see whether it asks something."""
_GREETINGS: Final = frozenset(
    """bye cheers ciao cool danke day evening everyone friend good goodbye great hallo hello help hey hi howdy merci
    moin morning nice night perfect ping super test testing thank thanks there thx welcome wow yo""".split()
)
_ASKING: Final = frozenset(
    """are can could describe did do does explain find give had has have how is list may search shall should show tell
    was were what when where which who whom whose why will would""".split()
)
"""Words that questions and requests begin with."""


def search_terms(question: str) -> Terms:
    """The words to look for. Empty when the message is only a greeting, or has none but stop words."""
    if len(question) <= _LONGEST_GREETING and _says_nothing(all_pieces(question)):
        return Terms((), ())
    terms = to_terms(question)
    return replace(terms, telling=tuple(dict.fromkeys(part for word in terms.telling for part in _parts(word))))


def _says_nothing(pieces: Sequence[str]) -> bool:
    greets = bool(pieces) and pieces[0] in _GREETINGS
    return all(piece in STOP or (greets and piece in _GREETINGS) for piece in pieces)


def _parts(word: str) -> list[str]:
    """The word itself; of a word in a script without spaces, each pair of neighboring characters."""
    if not _UNSPACED.search(word):
        return [word]
    return [run[i : i + 2] for run in _UNSPACED.findall(word) for i in range(len(run) - 1)]


def states_something(text: str, question: str) -> bool:
    """Whether an earlier message of the user may answer `question`: it is not that question and asks nothing itself."""
    pieces = all_pieces(text[:_LOOKED_AT])
    if len(pieces) < _FEWEST_WORDS or text.strip() == question.strip():
        return False
    return pieces[0] not in _ASKING and not text.rstrip().endswith(("?", "\uff1f"))
