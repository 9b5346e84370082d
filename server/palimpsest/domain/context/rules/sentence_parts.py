"""The parts of a message that rules are looked for in: its typed sentences, and the lead-in, clauses and verb of each.

All of it is bounded: of a very long message only both ends are read, and of a long sentence only the first clauses.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterator
from typing import Final

from palimpsest.domain.context.rules.forms import LONGEST_SENTENCE, NOTHING, Forms
from palimpsest.domain.context.rules.languages import WORD, languages_of, n_words, plain, stems
from palimpsest.domain.language.typed_text import sentences

LONG_TEXT: Final = 3_000
"""Characters above which a text is likelier pasted than typed."""
_VERY_LONG_TEXT: Final = 10_000
_LONG_SENTENCE: Final = 400
"""Characters above which a sentence is likelier a story."""
_SHORTEST_SENTENCE: Final = 3
"""Characters; three Chinese signs can be a rule."""
_LONGEST_SCOPE: Final = 80
"""Characters of a sentence that only says for how long or where the next one holds."""
_MOST_SENTENCES: Final = 400
"""Sentences that are read of one text, half of them from its end: nobody types more."""
_MOST_CLAUSES: Final = 12
"""Clauses that are read of one sentence; a list has more, a rule does not."""
_EXACT = re.compile(
    r"`[^`\n]+`|(?<![\w./@~-])[\w.~@-]{0,80}/[\w./@-]{0,200}\w|\b\w+\.(?:[a-z]{1,4}|json|yaml"
    r"|toml|lock)\b|\b[a-z]\w*_\w+\b"
    r"|\b[a-z]+[A-Z]\w+\b|\b[A-Z]\w*[a-z][A-Z]\w*\b|\b[0-9a-f]{7,40}\b|#\d+|(?<!\w)--\w[\w-]+|@\w[\w-]+"
)
_STYLE_NAME = re.compile(r"\b(?:snake_case|SCREAMING_SNAKE\w*|camelCase|PascalCase|UPPER_CASE|kebab-case)\b")
"""Names of spellings, which are spelled like exact names."""
_UNACCENTED: Final = str.maketrans("áéíóú", "aeiou")


def typed_sentences(typed: tuple[str, ...]) -> Iterator[tuple[str, int, int]]:
    """Yields each sentence, its offset into the text of the message, and how many more marks than enough it needs.

    `typed`: the text parts of a message. A scope that is a sentence of its own is joined to the next sentence.
    """
    base = 0
    for part in typed:
        spans = list(sentences(part))
        n_typed = sum(end - start for start, end in spans)
        if len(spans) > _MOST_SENTENCES:
            spans = spans[: _MOST_SENTENCES // 2] + spans[-_MOST_SENTENCES // 2 :]
        malus = (n_typed > LONG_TEXT) + (n_typed > _VERY_LONG_TEXT)
        scope_start: int | None = None
        for start, end in spans:
            if not _SHORTEST_SENTENCE <= end - start <= LONGEST_SENTENCE:
                continue
            if end - start <= _LONGEST_SCOPE and _is_scope_alone(plain(part[start:end])):
                scope_start = start
                continue
            begin = start if scope_start is None or start - scope_start > _LONGEST_SCOPE else scope_start
            scope_start = None
            yield part[begin:end], base + begin, malus + (end - start > _LONG_SENTENCE)
        base += len(part)


def _is_scope_alone(text: str) -> bool:
    return any(forms.scope_alone.fullmatch(past_lead_in(text, forms)) for forms in languages_of(text))


@functools.lru_cache(maxsize=1_024)
def subject_words(text: str) -> tuple[str, ...]:
    """Stems of the words that say what a text is about, in the order of the text, each once."""
    forms = languages_of(text)[0]
    return stems(lead_in_stripped(plain(text), forms), forms)


@functools.lru_cache(maxsize=1_024)
def normal_form(text: str) -> tuple[str, ...]:
    """The words without lead-ins and scope: the same for a rule and its repetition."""
    forms = languages_of(text)[0]
    return tuple(word.lower() for word in WORD.findall(forms.scope.sub(" ", lead_in_stripped(plain(text), forms))))


def past_lead_in(text: str, forms: Forms) -> str:
    """The text behind what only introduces it; the whole text where nothing else is in it."""
    bare = text.lstrip("\"'*_([ \u00a1")
    while (match := forms.lead_in.match(bare) or forms.unnamed.match(bare) or forms.usage.plea.match(bare)) is not None:
        rest = bare[match.end() :].lstrip(" ,.:;!\u2013\u2014-\uff0c\u3002\uff1a\uff1b\u3001\uff01")
        if not rest:
            break
        bare = rest
    return bare


def lead_in_stripped(text: str, forms: Forms) -> str:
    """The text behind what only introduces it, and behind a scope that opens it."""
    bare = past_lead_in(text, forms)
    while (match := forms.opening_scope.match(bare)) is not None and match.end() < len(bare):
        bare = past_lead_in(bare[match.end() :], forms)
    return bare


def later_clauses(text: str, bare: str, forms: Forms) -> Iterator[str]:
    """Yields the text from each place on where a clause begins, but for `bare` itself and for what is quoted."""
    for match in itertools.islice(forms.clause.finditer(text), _MOST_CLAUSES):
        rest = lead_in_stripped(text[match.end() :], forms)
        is_quoted = text.count('"', 0, match.end()) % 2
        if not is_quoted and n_words(rest) >= 2 and rest != bare:
            yield rest


def first_verb(text: str, forms: Forms) -> str:
    """The first word in small letters, without a pronoun that is joined to an order."""
    match = WORD.search(text)
    word = match[0].lower() if match else ""
    orders = forms.habits | forms.actions
    if word in orders or forms.enclitic is NOTHING:
        return word
    bare = forms.enclitic.sub("", word)
    return next((each for each in (bare, bare.translate(_UNACCENTED)) if each in orders), word)


def exact_names(text: str) -> list[str]:
    """Paths, identifiers, options and the like: a sentence about one exact thing is rarely a rule."""
    return _EXACT.findall(_STYLE_NAME.sub(" ", text))
