"""The summarizer that needs no model: it quotes, it never rephrases.

A block has four stores: what the user said (rules first), what was done and how it came out, what was answered, and
the exact names that stand in none of these. Lines carry the id of the message they come from. Made of messages, of
lower extractive summaries, or of both; a lower one is read back line by line, so merging loses lines but never
changes one.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.cut import Block, Live, Piece
from palimpsest.domain.messages import Content, MessageId, Role
from palimpsest.domain.tokens import CountText

AUTHOR: Final = "palimpsest"
KIND: Final = "extractive"

_SAID, _DONE, _ANSWERED, _NAMES = "Said by the user", "Done", "Answered", "Names"
_SHARES: Final = {_SAID: 0.40, _DONE: 0.30, _ANSWERED: 0.15, _NAMES: 0.15}
"""Of the target, by section; what one does not use goes to the next."""
_LINE_CHARS: Final = 280

_RULE = re.compile(
    r"\b(must(n't| not)?|never|always|only|do not|don't|should(n't)?|prefer|instead of|make sure|from now on|required?"
    r"|avoid|keep|use|no longer|we decided|decided to|let's)\b",
    re.I,
)
TROUBLE = re.compile(r"\b(error|fail(ed|ure|s)?|exception|denied|not found|traceback)\b", re.I)
NAME = re.compile(
    r"(?:[\w.~@-]*/)+[\w.@-]+"
    r"|\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w+)+\b"
    r"|\b[A-Za-z]\w*_\w+\b"
    r"|\b[a-z]+(?:[A-Z][a-z0-9]+)+\w*\b|\b(?:[A-Z][a-z0-9]+){2,}\b"
    r"|\b[0-9a-f]{7,40}\b|(?<!\w)--[a-z][a-z-]{2,}"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\s])|\n+")
STORED = re.compile(r"- \[(\d+)\] (.*)")


@dataclass(frozen=True, slots=True)
class _Line:
    message_id: int
    text: str
    weight: float
    """Larger is kept longer."""


def summarize_extractively(pieces: Sequence[Piece], target_tokens: int, count: CountText) -> str:
    """A summary of the pieces of about `target_tokens` raw tokens, at most a little over; never empty.

    Deterministic.
    """
    sections: dict[str, list[_Line]] = {_SAID: [], _DONE: [], _ANSWERED: []}
    names: Counter[str] = Counter()
    for piece in pieces:
        match piece:
            case Block():
                _read_back(piece.summary.text, sections, names)
            case Live():
                _read_message(piece.message.id, piece.message.content, sections, names)
    parts: list[str] = []
    room = 0.0
    for heading, lines in sections.items():
        room += target_tokens * _SHARES[heading]
        chosen, used = _select(lines, room, count)
        if chosen:
            parts.append("\n".join([f"## {heading}", *(f"- [{line.message_id}] {line.text}" for line in chosen)]))
            room -= used
    said = "\n".join(parts)
    room += target_tokens * _SHARES[_NAMES]
    if listed := _list_names(names, said, room, count):
        parts.append(f"## {_NAMES}\n{listed}")
    return "\n".join(parts) or f"{len(pieces)} messages without text."


def _each_once(text: str) -> list[str]:
    """The exact names in a text, in its order: a set's order would differ from one process to the next."""
    return list(dict.fromkeys(NAME.findall(text)))


def _read_message(
    message_id: MessageId, content: Content, sections: dict[str, list[_Line]], names: Counter[str]
) -> None:
    text = content.text
    names.update(_each_once(text[:20_000]))
    match content.role:
        case Role.USER:
            sentences = [squeeze(part) for part in _SENTENCE.split(text[:8_000]) if part.strip()]
            # A long paste is quoted by its beginning: what people ask stands first or last.
            for index, sentence in enumerate(sentences[:40]):
                weight = 2.0 if _RULE.search(sentence) and not sentence.endswith("?") else 1.0
                weight += 1.0 if index == 0 else 0.5 if index == len(sentences) - 1 else 0.0
                sections[_SAID].append(_Line(message_id, sentence, weight))
        case Role.ASSISTANT:
            sentences = [squeeze(part) for part in _SENTENCE.split(text[:8_000]) if part.strip()]
            for sentence in sentences[:1] + sentences[1:][-1:]:
                sections[_ANSWERED].append(_Line(message_id, sentence, 1.0))
            for call in content.calls:
                arguments = _brief_arguments(call.arguments)
                names.update(_each_once(arguments))
                sections[_DONE].append(_Line(message_id, f"{call.name}({arguments})", 1.0))
        case Role.TOOL:
            for result in content.results:
                names.update(_each_once(result.text[:4_000]))
                outcome = outcome_of(result.text)
                if outcome and (result.is_error or TROUBLE.search(outcome)):
                    sections[_DONE].append(_Line(message_id, f"{result.name} failed: {outcome}", 2.0))
                elif outcome:
                    sections[_DONE].append(_Line(message_id, f"{result.name}: {outcome}", 0.5))


def _read_back(text: str, sections: dict[str, list[_Line]], names: Counter[str]) -> None:
    """The lines of a lower summary. What an earlier selection kept is kept longer than what is new."""
    heading = _ANSWERED
    for line in text.splitlines():
        if line.startswith("## "):
            # A model's own headings are no store of ours: what stands under them was answered.
            heading = line[3:] if line[3:] in _SHARES else _ANSWERED
        elif heading == _NAMES:
            names.update(name for name in line.split("; ") if name)
        elif (stored := STORED.match(line)) is not None:
            weight = 2.0 if heading == _SAID and _RULE.search(stored[2]) else 1.0
            sections[heading].append(_Line(int(stored[1]), stored[2], weight))
        elif line.strip():
            sections[_ANSWERED].append(_Line(0, squeeze(line), 1.0))


def _select(lines: Sequence[_Line], room: float, count: CountText) -> tuple[list[_Line], int]:
    """The heaviest lines that fit, the newer first among equals; returned in order, with the tokens they take."""
    by_weight = sorted(enumerate(lines), key=lambda item: (item[1].weight, item[0]), reverse=True)
    chosen: list[int] = []
    seen: set[str] = set()
    used = 0
    for index, line in by_weight:
        if line.text in seen:
            continue
        size = count(line.text) + 6
        if used + size > room:
            continue
        seen.add(line.text)
        chosen.append(index)
        used += size
    return [lines[index] for index in sorted(chosen)], used


def _list_names(names: Counter[str], said: str, room: float, count: CountText) -> str:
    """Names that stand nowhere else in the block, the most frequent first, as many as fit."""
    listed: list[str] = []
    for name, _ in names.most_common():
        if 4 <= len(name) <= 120 and name not in said:
            size = count(name) + 1
            if size > room:
                break
            room -= size
            listed.append(name)
    return "; ".join(listed)


def squeeze(text: str) -> str:
    """One line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE_CHARS else line[: _LINE_CHARS - 1] + "…"


def _brief_arguments(arguments: str) -> str:
    """The arguments of a call, long values cut short."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return squeeze(arguments[:120])
    if not isinstance(value, dict):
        return squeeze(str(value)[:120])
    return ", ".join(f"{key}={_clip(str(each))}" for key, each in value.items())[:_LINE_CHARS]


def _clip(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else line[:79] + "…"


def outcome_of(text: str) -> str:
    """The line of a result that tells most: the first that speaks of trouble, else the last."""
    lines = _bounded_lines(text)
    trouble = next((line for line in lines if TROUBLE.search(line)), None)
    return squeeze(trouble or (lines[-1] if lines else ""))


def _bounded_lines(text: str) -> list[str]:
    """Lines of the beginning and the end of a text, empty ones left out; bounded however large it is."""
    ends: Iterable[str] = (text,) if len(text) <= 8_000 else (text[:4_000], text[-4_000:])
    return [line.strip() for end in ends for line in end.splitlines() if line.strip()]
