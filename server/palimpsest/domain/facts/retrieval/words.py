"""Words as the full-text indexes compare them.

An index splits at punctuation by itself; only humps (`maxTokens`) are split here, with ASCII rules that depend on no
version of Unicode. The indexed words must stay the same: a change here needs a migration that builds the indexes anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.language.lexicon import STOP
from palimpsest.domain.messages import clean_text

RUN: Final = re.compile(r"[A-Za-z0-9]+")
_CAPITALIZED_RUN: Final = re.compile(r"(?<![A-Za-z0-9])[a-z0-9]*+[A-Z][A-Za-z0-9]*")
"""Those of `RUN` that may have humps: with a capital letter."""
HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
WORD: Final = re.compile(r"[^\W_]+")
_LONGEST_IDENTIFIER: Final = 100
"""Characters: longer runs are encoded data, not names."""
_LONGEST_QUESTION: Final = 20_000
"""Characters; of a longer question both ends are read."""
_FIRST_WORDS, _LAST_WORDS = 20, 12
"""Words of a long question that are searched for: a paste comes before or behind the question."""

ASKING: Final = frozenset(
    """answer ask asked asking brought chat chats complete comprehensive conversation conversations describe detail
    detailed details different discuss discussed discussing discussion earlier entire explain first full help helped
    history includes including information item items kind know known last latest learn list listed many mention
    mentioned mentioning much order overall overview past point points previous previously provide quick recall
    recap regarding remember remind reminded sequence session sessions share shared show specific specifically
    suggest suggested summarise summarize summary talk talked talking thing think thinking thought time times told
    topic topics type types use used using various walk way ways work""".split()
)
"""Words about asking rather than about the subject. They count half."""


def humped(text: str) -> str:
    """The identifiers with humps in a text, each once and taken apart."""
    runs = dict.fromkeys(_CAPITALIZED_RUN.findall(text))
    found = (run for run in runs if len(run) <= _LONGEST_IDENTIFIER and HUMP.search(run))
    return " ".join(dict.fromkeys(HUMP.sub(" ", run) for run in found))


@dataclass(frozen=True, slots=True)
class Terms:
    """Words to search for, each once, folded to lower case; they hold letters and digits only."""

    telling: tuple[str, ...]
    asking: tuple[str, ...]
    """They count half. Empty when the question has only such words, which are the telling ones then."""


def to_terms(text: str) -> Terms:
    """The words of a question. Stop words count only when there is nothing else."""
    if len(text) > _LONGEST_QUESTION:
        text = f"{text[: _LONGEST_QUESTION // 2]} {text[-_LONGEST_QUESTION // 2 :]}"
    cleaned, _ = clean_text(text)
    runs = dict.fromkeys(part for run in WORD.findall(cleaned) for part in (run, *HUMP.split(run)))
    # A run may be an identifier, whose own case is no longer needed once its humps are known.
    words = list(dict.fromkeys(run.casefold() for run in runs))
    words = [word for word in words if word not in STOP] or words
    if len(words) > _FIRST_WORDS + _LAST_WORDS:
        words = words[:_FIRST_WORDS] + words[-_LAST_WORDS:]
    telling = tuple(word for word in words if word not in ASKING)
    asking = tuple(word for word in words if word in ASKING)
    return Terms(telling, asking) if telling else Terms(asking, ())
