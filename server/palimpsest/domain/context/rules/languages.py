"""The languages of rules: which of them a sentence is in, and the stems of its words."""

from __future__ import annotations

import functools
import re
from typing import Final

from palimpsest.domain.context.rules.chinese import CHINESE
from palimpsest.domain.context.rules.english import ENGLISH
from palimpsest.domain.context.rules.forms import Forms
from palimpsest.domain.context.rules.french import FRENCH
from palimpsest.domain.context.rules.german import GERMAN
from palimpsest.domain.context.rules.spanish import SPANISH

WITH_SPACES: Final = (ENGLISH, GERMAN, FRENCH, SPANISH)
"""A sentence without any of their small words is read in each of them."""
LANGUAGES: Final = (*WITH_SPACES, CHINESE)
WORD: Final = re.compile(r"[^\W_]+(?:['_-][^\W_]+)*")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_HAN_OR_WORD = re.compile(r"[\u4e00-\u9fff]+|[A-Za-z0-9]+(?:[._+#-][A-Za-z0-9]+)*")
_FOLDED: Final = str.maketrans("áéíóúàèìòùâêîôûäëïöüçñ", "aeiouaeiouaeiouaeioucn")
_NOT_PLAIN: Final = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u00a0": " ", "\u202f": " "})


def is_han(sign: str) -> bool:
    """Whether a character is a Chinese sign."""
    return _HAN.match(sign) is not None


def has_han(text: str) -> bool:
    """Whether a text holds a Chinese sign."""
    return not text.isascii() and _HAN.search(text) is not None


def folded(text: str) -> str:
    """A lower-case text without accents, which come and go with inflection and with keyboards."""
    return text.translate(_FOLDED)


def plain(text: str) -> str:
    """The text with plain apostrophes and spaces; its length stays."""
    return text.translate(_NOT_PLAIN)


_COURTESY = re.compile(
    r"(?:(?<![\s,;])[\s,;]+(?:please|pls|plz|thanks|thank you|thx|sorry|bitte(?: schön)?|danke|merci|svp|stp"
    r"|s'il (?:te|vous) pla[iî]t|por favor|porfa|gracias)|(?<![,\uff0c\s])[,\uff0c\s]*(?:谢谢|多谢|拜托)(?:了)?)"
    r"(?=[\s.!\u2026\u3002\uff01]*\Z)",
    re.I,
)


@functools.lru_cache(maxsize=64)
def without_courtesy(text: str) -> str:
    """The sentence without thanks and pleas at its end."""
    return _COURTESY.sub("", text) or text


@functools.lru_cache(maxsize=1_024)
def languages_of(text: str) -> tuple[Forms, ...]:
    """The languages that share the most small words and letters with a sentence, English first.

    Several where they share equally many: all languages with Latin letters where the sentence has none of these words.
    """
    if has_han(text):
        return (CHINESE,)
    lower = plain(text).lower()
    said = {part for word in WORD.findall(lower) for part in (word, *word.split("'"))}
    letters = set(lower)
    hits = [(len(said & forms.known_by) + 2 * len(letters & forms.letters), forms) for forms in WITH_SPACES]
    most = max(n for n, _ in hits)
    return tuple(forms for n, forms in hits if n == most)


@functools.lru_cache(maxsize=1_024)
def stems(text: str, forms: Forms) -> tuple[str, ...]:
    """Stems of the words that say what a text is about, in the order of the text, each once."""
    found = _pieces(text, forms) if forms is CHINESE else _content_words(text, forms)
    return tuple(dict.fromkeys(stem(word, forms) for word in found))


@functools.cache
def rivals_of(forms: Forms) -> tuple[frozenset[str], ...]:
    """Groups of stems of which only one can be chosen."""
    return tuple(frozenset(each for word in group for each in (word, stem(word, forms))) for group in forms.rivals)


@functools.cache
def manners_of(forms: Forms) -> frozenset[str]:
    """Stems of ways to answer."""
    return frozenset(each for word in forms.usage.manners for each in (word, stem(word, forms)))


@functools.cache
def topics_of(forms: Forms) -> frozenset[str]:
    """Stems for the matter of a choice between rivals."""
    return frozenset(each for word in forms.topics for each in (folded(word), stem(word, forms)))


@functools.lru_cache(maxsize=512)
def n_words(text: str) -> int:
    """The number of words; two Chinese signs count as one."""
    n_signs = 0 if text.isascii() else len(_HAN.findall(text))
    return len(WORD.findall(text)) + n_signs // 2


def _content_words(text: str, forms: Forms) -> list[str]:
    found = []
    for word in WORD.findall(text.lower()):
        # French and its like join an article to its noun.
        word = word.rpartition("'")[2] if forms.elided and re.match(rf"(?:{forms.elided})'", word) else word
        word = word.removeprefix("no-")
        if word not in forms.stop and not word.endswith(("n't", "'s", "'ll", "'re", "'ve", "'d")):
            found.append(word)
    return found


@functools.cache
def _stop_pattern(forms: Forms) -> re.Pattern[str]:
    return re.compile("|".join(sorted(map(re.escape, forms.stop), key=lambda word: (-len(word), word))))


def _pieces(text: str, forms: Forms) -> list[str]:
    """Words of a Chinese text: the runs between its small words, cut into pairs of signs where they are long."""
    found: list[str] = []
    for match in _HAN_OR_WORD.finditer(text.lower()):
        if not _HAN.match(match[0]):
            found.append(match[0])
            continue
        for run in _stop_pattern(forms).split(match[0]):
            found += [run] if len(run) <= 2 else [run[at : at + 2] for at in range(len(run) - 1)]
    return [piece for piece in found if piece]


@functools.cache
def _suffixes(forms: Forms) -> tuple[str, ...]:
    return tuple(folded(suffix) for suffix in forms.suffixes)


def stem(word: str, forms: Forms) -> str:
    """A crude stem: enough to know "tabs" for "tab" and "commits" for "committing"."""
    word = folded(word)
    if forms.participle and (match := forms.participle.fullmatch(word)) is not None:
        word = match[1]
    for suffix in _suffixes(forms):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            cut = word[: -len(suffix)] + ("y" if suffix in ("ied", "ies") else "")
            word = cut[:-1] if len(cut) > 3 and cut[-1] == cut[-2] and suffix in forms.doubling else cut
            break
    for one, other in forms.alike:
        if word.endswith(one):
            return word[: -len(one)] + other
    return word
