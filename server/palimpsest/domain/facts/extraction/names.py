"""Exact names in a statement, and the places in files that it names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import Final

from palimpsest.domain.context.summaries.by_model import names_in
from palimpsest.domain.facts.fact import LONGEST_ENTITY, MOST_ENTITIES, Place, Span

_TICKED = re.compile(r"`([^`\n]{1,120})`")
_URL = re.compile(
    r"\b(?:https?|wss?|postgres(?:ql)?|redis|mysql|mongodb|amqps?|s3|ftps?)://[^\s<>\"'`(){}\[\]|\\^]{1,200}"
)
_TICKED_NAME = re.compile(r"[\w.@#/:$~+-]+(?:\(\))?[?!]?")
_PROPER = re.compile(r"(?<=[a-z,] )[A-Z][\w+#]*(?:\.\w+)*")
_NO_NAMES: Final = frozenset(
    "I I'm I'll I'd I've Monday Tuesday Wednesday Thursday Friday Saturday Sunday OK Let Now The This That And But So"
    " English".split()
)
_FILE_NAME = re.compile(r"(?:[\w@~.-]*/)*[\w@-][\w@.-]*\.[A-Za-z][A-Za-z0-9]{0,7}|(?:[\w@.-]+/)+[\w@-]*[A-Za-z][\w@-]*")
_BLOB = re.compile(r"[\w@~./-]{400,}+")
"""No name: a search in it would take time that grows with the square of its length."""
_LINES = re.compile(
    r":(\d{1,7})(?:-(\d{1,7}))?\b|#L(\d{1,7})(?:-L?(\d{1,7}))?\b"
    r"|`?,? (?:\(|at |on |in )?lines? (\d{1,7})(?:\s?(?:-|\u2013|to|and) ?(\d{1,7}))?",
)
_HOLDERS = r"(?:class|function|struct|trait|enum|interface|method|module|macro|constant|hook)"
_DETERMINERS: Final = (
    "(?:The|An?|This|That|These|Those|Each|Every|Any|All|Some|No|One|Both|Another|Which|My|Your|Our|Its|Their)"
)
_SYMBOL = re.compile(
    r"\b(?:def|func|fn)\s+`?([A-Za-z_][\w.]*)"
    rf"|\b{_HOLDERS}\s+(?:`([A-Za-z_][\w.]*)(?:\(\))?`|([A-Z][\w.]*\w))"
    rf"|`([A-Za-z_][\w.]*)(?:\(\))?`\s+{_HOLDERS}\b|\b(?!{_DETERMINERS}\b)([A-Z]\w*)\s+{_HOLDERS}\b"
    r"|`([A-Za-z_][\w.]*)\(\)`|(?<![\w./])([a-z_]\w*[_A-Z]\w*)\(\)"
)
_FILE_ENDINGS: Final = frozenset(
    "c cc cfg conf cpp cs css csv dart ex exs erl go gradle h hcl hpp hs html ini ipynb java js json jsonl jsx kt less"
    " lock lua md mdx mjs mk ml php plist pl properties proto ps1 py pyi r rb rs rst scala scss sh sql sqlite svelte"
    " svg swift tf toml ts tsx txt vue xml yaml yml zig".split()
)
_WORDS_ONLY = re.compile(r"[A-Za-z]+/[A-Za-z]+")
_MOST_PLACES: Final = 8


def entities_in(text: str, also: Iterable[str] = ()) -> tuple[str, ...]:
    """Addresses, paths, identifiers, names in backticks and proper names, as they are written, `also` first; each
    once."""
    found = dict.fromkeys(also)
    found.update(dict.fromkeys(match[0].rstrip(".,;:!?*_") for match in _URL.finditer(text)))
    text = _URL.sub(" ", text)
    for match in _TICKED.finditer(text):
        if _TICKED_NAME.fullmatch(match[1]) and any(char.isalpha() for char in match[1]):
            found[match[1].removesuffix("()")] = None
    names = names_in(text)
    found.update(dict.fromkeys((*names.paths, *names.identifiers)))
    found.update(dict.fromkeys(match[0] for match in _PROPER.finditer(text) if match[0] not in _NO_NAMES))
    kept = [name for name in found if 2 <= len(name) <= LONGEST_ENTITY]
    return tuple(kept[:MOST_ENTITIES])


def below(path: str, folder: str) -> str | None:
    """The path below the folder, with `/`; None for a path that is not below it, or not certainly."""
    text = path.strip().strip("`'\"").replace("\\", "/")
    if folder and text.startswith(f"{folder}/"):
        text = text[len(folder) + 1 :]
    if not text or text.startswith(("/", "~")) or re.match(r"[A-Za-z][\w+.-]*:", text) or not text.isprintable():
        return None
    text = posixpath.normpath(text)
    return None if text in (".", "..") or text.startswith("../") or len(text) > LONGEST_ENTITY else text


def is_file_name(name: str) -> bool:
    """Whether the name has the ending of a file."""
    base = name.rpartition("/")[2]
    ending = base.rpartition(".")[2].lower()
    return "." in base.strip(".") and ending in _FILE_ENDINGS


def places_in(text: str, folder: str) -> tuple[Place, ...]:
    """The files that a text names, with lines and symbol where it tells them; each once, in its order."""
    text = _BLOB.sub(lambda blob: " " * len(blob[0]), text)
    symbols = [next(filter(None, match.groups())) for match in _SYMBOL.finditer(text)]
    found: dict[str, Place] = {}
    for match in _FILE_NAME.finditer(text):
        # `a/b` alone is as likely prose; what has neither an ending nor a folder cannot be watched.
        if not is_file_name(match[0].rstrip(".")) or _WORDS_ONLY.fullmatch(match[0]):
            continue
        if (
            text.endswith(("://", "~", "/", "\\"), 0, match.start())
            or (path := below(match[0].rstrip("."), folder)) is None
        ):
            continue
        span = _span(text, match.end())
        if path not in found or (span is not None and found[path].span is None):
            found[path] = Place(path, span)
    if len(found) == 1 and symbols:
        path, place = next(iter(found.items()))
        found[path] = Place(path, place.span, symbols[0])
    return tuple(found.values())[:_MOST_PLACES]


def _span(text: str, at: int) -> Span | None:
    match = _LINES.match(text, at)
    if match is None:
        return None
    first = int(match[1] or match[3] or match[5])
    last = int(match[2] or match[4] or match[6] or first)
    return Span(first, max(first, last)) if first else None
