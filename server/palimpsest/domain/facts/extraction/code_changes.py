"""Changes of files by tool calls: the symbols that were added, changed, removed or renamed, told by the arguments.

Symbols are found by the form of lines, for the usual languages: a symbol reaches from its line to the next one. A
change has one text, which `Change.read` reads back, so that several changes of one file become one statement.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from palimpsest.domain.facts.extraction.exchange import ToolUse
from palimpsest.domain.facts.extraction.names import below, is_file_name

_MOST_SYMBOLS, _MOST_NOTES, _LONGEST_NOTE, _LONGEST_TEXT = 10, 2, 220, 800
_MOST_SYMBOLS_OF_WHOLE: Final = 6
_READ_CHARS: Final = 200_000
_SHORTEST_LINE, _LONGEST_LINE = 8, 160
_MOST_LINES: Final = 4_000
_PATH_KEYS: Final = (
    "path",
    "file_path",
    "filePath",
    "filename",
    "file",
    "target_file",
    "relative_path",
    "notebook_path",
)
_PAIRS: Final = (("old_string", "new_string"), ("old_text", "new_text"), ("oldText", "newText"), ("old_str", "new_str"))
_WHOLE_KEYS: Final = ("content", "contents", "file_text", "text")
_DIFF_KEYS: Final = ("diff", "patch", "code_edit", "input")
_READING = re.compile(r"read|view|list|ls|glob|grep|search|find|fetch|open|cat|get|show|recall|output", re.I)
_EDITING = re.compile(r"edit|write|update|create|patch|replace|insert|apply|save|propose|modify", re.I)
_REFUSED = re.compile(r"\W*(?:user )?(?:rejected|refused|declined|error|failed|cancell?ed|no changes?)\b", re.I)
_DEFINITION = re.compile(
    r"^[ \t]*(?:export\s+)?(?:default\s+)?(?:pub(?:\([^)\n]*\))?\s+)?"
    r"(?:(?:async|static|public|private|protected|internal|final|abstract|unsafe|override|sealed|data|inline)\s+)*"
    r"(?:def|defp|defmodule|defmacro|class|function\*?|func|fn|struct|enum|trait|interface|module|impl|record|object"
    r"|CREATE TABLE(?: IF NOT EXISTS)?)"
    r"\s+(?:\([^)\n]*\)\s*)?`?\"?([A-Za-z_$][\w.$]*[?!]?)"
    r"|^[ \t]*(?:export\s+)?type\s+([A-Z]\w*)\s*(?:<[^>\n]*>)?\s*="
    r"|^(?:export\s+)?(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*(?::[^=\n]+)?=\s*(?:async\s*)?(?:function|\(|<|\w+\s*=>)"
    r"|^[ \t]+(?:(?:private|public|protected|static|async|override|readonly|get|set)\s+)+([A-Za-z_]\w*)\s*[(<]"
    r"|^(?:export\s+(?:const\s+)?)?([A-Z][A-Z0-9_]{2,})\s*(?::[^=\n]+)?=(?!=)"
    r"|^[ \t]*(?:\w+\.)+([A-Za-z_]\w*)\s*=\s*(?:async\s*)?(?:function|\{\s*$|\(.*=>)"
    r"|^(## (?![\[\d])\S[^\n]{0,60})$",
    re.M,
)
_TICKED = re.compile(r"`([^`]+)`")
_TEXT = re.compile(r"`([^`]+)`: (.+)\.", re.S)


class Deed(StrEnum):
    """A kind of change of a symbol."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class Touched:
    symbol: str
    deed: Deed
    old_name: str = ""
    """The former name of a renamed symbol; else empty."""


@dataclass(frozen=True, slots=True)
class Change:
    """The changes of one file."""

    path: str
    is_created: bool = False
    touched: tuple[Touched, ...] = ()
    """Each symbol once, the last touched last."""
    notes: tuple[str, ...] = ()
    """Sentences in which the assistant announced the change, the newest last."""

    @property
    def says_something(self) -> bool:
        return bool(self.touched or self.notes or self.is_created)

    @property
    def text(self) -> str:
        """The statement, on one line; `read` reads it back."""
        parts = ["created"] if self.is_created else []
        for deed in (Deed.ADDED, Deed.CHANGED, Deed.REMOVED):
            if names := [f"`{each.symbol}`" for each in self.touched if each.deed is deed]:
                parts.append(f"{deed} {', '.join(names)}")
        parts += [
            f"{Deed.RENAMED} `{each.old_name}` to `{each.symbol}`" for each in self.touched if each.deed is Deed.RENAMED
        ]
        return f"`{self.path}`: {'; '.join([*parts, *self.notes])}."

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that exist after the change."""
        return tuple(each.symbol for each in self.touched if each.deed is not Deed.REMOVED)

    @classmethod
    def read(cls, text: str) -> Change | None:
        """The change of a statement that `text` wrote; None for any other statement."""
        match = _TEXT.fullmatch(text)
        if match is None:
            return None
        is_created, touched, notes = False, list[Touched](), list[str]()
        for part in match[2].split("; "):
            deed = part.partition(" ")[0]
            names = _TICKED.findall(part)
            if part == "created":
                is_created = True
            elif deed == Deed.RENAMED and len(names) == 2 and part == f"{deed} `{names[0]}` to `{names[1]}`":
                touched.append(Touched(names[1], Deed.RENAMED, names[0]))
            elif deed in (Deed.ADDED, Deed.CHANGED, Deed.REMOVED) and part == f"{deed} " + ", ".join(
                f"`{name}`" for name in names
            ):
                touched += [Touched(name, Deed(deed)) for name in names]
            else:
                notes.append(part)
        return cls(match[1], is_created, tuple(touched), tuple(notes))

    @staticmethod
    def path_in(text: str) -> str | None:
        """The path in a statement that `text` wrote; None for any other statement."""
        match = _TEXT.fullmatch(text)
        return match[1] if match else None

    def followed_by(self, later: Change) -> Change:
        """Both changes as one; the oldest symbols go when it grows too long. The same change a second time adds
        nothing."""
        touched = {each.symbol: each for each in self.touched}
        for each in later.touched:
            before = touched.pop(each.symbol, None)
            keeps = before is not None and before.deed in (Deed.ADDED, Deed.RENAMED) and each.deed is Deed.CHANGED
            touched[each.symbol] = before if keeps and before is not None else each
        notes = dict.fromkeys(note for note in self.notes if note not in later.notes)
        notes.update(dict.fromkeys(later.notes))
        n_kept = _MOST_SYMBOLS
        while True:
            kept = _in_order(list(touched.values())[-n_kept:])
            both = Change(later.path, self.is_created or later.is_created, kept, tuple(notes)[-_MOST_NOTES:])
            if n_kept == 1 or len(both.text) <= _LONGEST_TEXT:
                return both
            n_kept -= 1

    def noted(self, sentence: str) -> Change:
        """The change with a sentence about it, made to fit the text of a change."""
        note = " ".join(sentence.replace(";", ",").split()).rstrip(".:!, ")
        if not note or len(note) > _LONGEST_NOTE or note.partition(" ")[0] in ("created", *Deed):
            return self
        return replace(self, notes=(*self.notes, note)[-_MOST_NOTES:])


def _in_order(touched: Sequence[Touched]) -> tuple[Touched, ...]:
    """In the order of `Change.text`, so that it is read back the same."""
    order = list(Deed)
    return tuple(sorted(touched, key=lambda each: order.index(each.deed)))


@dataclass(frozen=True, slots=True)
class ChangeByTool:
    change: Change
    quote: str
    """Exactly as it is in the arguments of the call."""


def changes_by(use: ToolUse, folder: str) -> Iterator[ChangeByTool]:
    """The changes of files of the folder by a successful call, in order; none for a call that only reads."""
    if not use.has_succeeded or (use.result is not None and _REFUSED.match(use.result.text)):
        return
    name = use.call.name
    if _READING.match(name) and not _EDITING.search(name):
        return
    arguments = use.arguments
    raw = next((value for key in _PATH_KEYS if isinstance(value := arguments.get(key), str)), None)
    if raw is None and not arguments and _EDITING.search(name) and is_file_name(use.call.arguments.strip()):
        raw = use.call.arguments.strip()  # some recordings keep nothing of the arguments but the path
    diffs = [text for key in _DIFF_KEYS if isinstance(text := arguments.get(key), str)]
    if raw is None or (path := below(raw, folder)) is None:
        for diff in diffs:
            yield from _by_patch(diff, folder, use)
        return
    if not (edited := list(_edits(arguments))):
        edited = [_sides(diff) for diff in diffs]
    wholes = [text for key in _WHOLE_KEYS if isinstance(text := arguments.get(key), str)]
    change = Change(path)
    for old, new in edited:
        change = change.followed_by(_compared(path, old, new))
    if wholes and not edited and (_EDITING.search(name) or name.lower() in ("file", "str_replace_based_edit_tool")):
        outcome = use.result.text[:200].lower() if use.result is not None else ""
        is_created = re.search(r"\bcreated?\b|\bnew file\b", outcome) is not None
        segments = list(_segments(wholes[0], path))
        deed = Deed.ADDED if is_created else Deed.CHANGED
        touched = tuple(Touched(symbol, deed) for symbol in segments[:_MOST_SYMBOLS_OF_WHOLE])
        change = Change(path, is_created, touched)
    elif not edited and not _EDITING.search(name):
        return
    yield ChangeByTool(change, _quote(use, change, _new_line(use.call.arguments, edited) or raw))


def _new_line(written: str, edited: Sequence[tuple[str, str]]) -> str:
    """The longest added line that is in the call's arguments exactly so; empty for none. It tells the place of a change
    that has no symbol."""
    added = (
        line.strip()
        for old, new in edited
        for line in new[:_READ_CHARS].splitlines()
        if line.strip() not in old and _SHORTEST_LINE <= len(line.strip()) <= _LONGEST_LINE
    )
    return max((line for line in added if line in written), key=len, default="")


def _edits(arguments: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The old and the new text of each replacement."""
    nested = arguments.get("edits", arguments.get("changes"))
    for each in (arguments, *(nested if isinstance(nested, list) else ())):
        if not isinstance(each, dict):
            continue
        for old_key, new_key in _PAIRS:
            old, new = each.get(old_key), each.get(new_key)
            if isinstance(old, str) and isinstance(new, str):
                yield old, new
                break


def _sides(diff: str) -> tuple[str, str]:
    """The old and the new side of a diff's lines."""
    lines = diff[:_READ_CHARS].splitlines()
    body = [line for line in lines if not line.startswith(("+++", "---", "@@", "***", "diff "))]
    old = "\n".join(line[1:] for line in body if not line.startswith("+"))
    new = "\n".join(line[1:] for line in body if not line.startswith("-"))
    return old, new


_PATCH_FILE = re.compile(r"^(?:\+\+\+ (?:b/)?|\*\*\* (?:Update|Add|Delete) File: )(\S.*)$", re.M)


def _by_patch(diff: str, folder: str, use: ToolUse) -> Iterator[ChangeByTool]:
    heads = list(_PATCH_FILE.finditer(diff))
    ends = [*(each.start() for each in heads), len(diff)][1:]
    for head, after in zip(heads, ends, strict=True):
        if (path := below(head[1], folder)) is None:
            continue
        old, new = _sides(diff[head.end() : after])
        change = replace(_compared(path, old, new), is_created="Add File" in head[0])
        yield ChangeByTool(change, _quote(use, change, head[1]))


def _segments(text: str, path: str) -> dict[str, str]:
    """The text of each symbol by name, in order; of two with one name the last. Only prose has headings."""
    is_prose = path.endswith((".md", ".mdx", ".markdown"))
    text = "\n".join(text[:_READ_CHARS].split("\n")[:_MOST_LINES])
    heads = list(_DEFINITION.finditer(text))
    ends = [*(each.start() for each in heads), len(text)][1:]
    found: dict[str, str] = {}
    for head, end in zip(heads, ends, strict=True):
        name = next(filter(None, head.groups())).strip()
        if 1 < len(name) <= 80 and "`" not in name and ";" not in name and name.startswith("#") == is_prose:
            found[name] = text[head.start() : end].rstrip()
    return found


def _compared(path: str, old: str, new: str) -> Change:
    before, after = _segments(old, path), _segments(new, path)
    added = [name for name in after if name not in before]
    removed = [name for name in before if name not in after]
    touched = [Touched(name, Deed.CHANGED) for name in after if name in before and before[name] != after[name]]
    if len(added) == len(removed) == 1 and _is_same_body(before[removed[0]], after[added[0]]):
        touched.append(Touched(added[0], Deed.RENAMED, removed[0]))
        added, removed = [], []
    touched += [Touched(name, Deed.ADDED) for name in added]
    touched += [Touched(name, Deed.REMOVED) for name in removed]
    return Change(path, False, _in_order(touched[-_MOST_SYMBOLS:]))


def _is_same_body(old: str, new: str) -> bool:
    """Whether two definitions are nearly equal but for their first lines."""
    old_body, new_body = (text.split("\n")[1:60] for text in (old, new))
    if not old_body and not new_body:
        return difflib.SequenceMatcher(None, old[:400], new[:400]).ratio() >= 0.6
    return difflib.SequenceMatcher(None, old_body, new_body).ratio() >= 0.6


def _quote(use: ToolUse, change: Change, raw_path: str) -> str:
    """The part of the arguments that shows the change best: the line of a symbol, else the path."""
    text = use.call.arguments
    for touched in change.touched:
        at = text.find(touched.old_name or touched.symbol)
        if at >= 0:
            # In JSON a line ends with an escape.
            start = max(text.rfind("\\n", 0, at) + 2, text.rfind('"', 0, at) + 1, at - 160)
            stops = [stop for mark in ("\\n", '"') if (stop := text.find(mark, at)) >= 0]
            quote = text[start : min([*stops, at + 160])].rstrip("\\").replace("\\t", "\t", 0).strip()
            while quote.startswith("\\t"):
                quote = quote[2:]
            if quote in text and touched.symbol:
                return quote
    return raw_path if raw_path in text else text[:160]
