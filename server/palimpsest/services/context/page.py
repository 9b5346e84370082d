"""A context as a page to read, in Markdown: the rules once, then what each summary says, what was recalled, and the
live messages in short."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.cut import MessagePiece, SummaryPiece
from palimpsest.domain.context.notebook.step_note import NOTE_HEAD
from palimpsest.domain.context.prepared import Segment
from palimpsest.domain.context.recall_report import Found, RecallReport
from palimpsest.domain.context.recalled import FOOT, HEAD
from palimpsest.domain.context.rules.rule_set import split_standing_rules
from palimpsest.domain.context.rules.standing import HEAD as RULES_HEAD
from palimpsest.domain.context.rules.standing import TAKEN_BACK
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.messages import AttachmentPart, Content, ImagePart, MessageId, Role
from palimpsest.services.context.state import ContextState
from palimpsest.services.context.words import NOT_RECALLED, WRITTEN
from palimpsest.wording import counted

_MESSAGE_CHARS: Final = 200
_MOST_LEFT_OUT: Final = 5
"""Of what a search left out: the best of it is shown, the rest is counted."""
_LINE: Final = re.compile(r"(?P<indent>\s*)(?P<mark>#{1,6}|[-*•]|→)?\s*(?P<text>.*)")
_OF_MESSAGE: Final = re.compile(r"\[\d+\] ")
"""The beginning of a line that says what a message has; several such lines are a list."""
_ENDS: Final = tuple(".!?…:;,。")
_ROLES: Final = {Role.USER: "user", Role.ASSISTANT: "assistant", Role.TOOL: "tool"}


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads the page."""

    escape: Callable[[str], str] = str
    """Makes a line of any text a line of the page: where the page is shown as Markdown, nothing in the text may count
    as Markdown."""
    most_lines: int | None = None
    """Of one summary; None: all."""
    most_messages: int | None = None
    """Live messages, the newest; None: all."""


def context_page(state: ContextState, reader: Reader) -> str:
    """The context of a conversation as a page."""
    summaries = [piece for piece in state.pieces if isinstance(piece, SummaryPiece)]
    lives = [piece for piece in state.pieces if isinstance(piece, MessagePiece)]
    sizes = summary_tokens(state.segments)
    sections = [
        _head(state, len(summaries), len(lives), reader),
        _section("Standing rules", _rules(state, summaries, reader)),
        *(summary_page(piece, sizes[piece.summary.id], reader) for piece in summaries),
        *(_recalled(piece, reader) for piece in lives),
        _section("Messages as they were said", _messages(lives, reader)),
    ]
    return "\n\n".join(section for section in sections if section)


def summary_tokens(segments: Iterable[Segment]) -> dict[int, int]:
    """The model's tokens of each summary among the segments, by its id."""
    return {each.summary_id: each.tokens for each in segments if each.summary_id is not None}


def summary_text(summary: Summary, reader: Reader) -> str:
    """What one summary says, without the standing rules and without a heading."""
    return "\n".join(_summary_lines(summary, reader)).strip("\n")


def in_short(content: Content) -> str:
    """A message as one line of at most 200 characters."""
    return clip(_joined(_parts(content)))


def _summary_lines(summary: Summary, reader: Reader) -> list[str]:
    _, text = split_standing_rules(summary.text)
    return [_line(line, reader) for line in text.strip("\n").split("\n")]


def summary_page(piece: SummaryPiece, tokens: int, reader: Reader) -> str:
    """What one summary says, without the standing rules. `tokens`: the model's."""
    summary = piece.summary
    lines = _summary_lines(summary, reader)
    n_more = 0 if reader.most_lines is None else len(lines) - reader.most_lines
    if n_more > 0:
        lines = [*lines[:-n_more], "", f"… {counted(n_more, 'more line')}"]
    how = WRITTEN.get(summary.kind, summary.kind) + (", made of older summaries" if summary.level > 1 else "")
    where = f"{_span(piece.start, piece.end)} ({how}, {counted(tokens, 'token')})"
    return _section(f"Summary {summary.id}: {where}", lines)


def recall_page(heading: str, report: RecallReport | None, reader: Reader) -> str:
    """What was looked for, what was taken, and why the rest was left out; empty without a report."""
    if report is None or not (report.terms or report.taken or report.left_out):
        return ""
    lines = [f"- looked for: {reader.escape(', '.join(report.terms)) or 'nothing'}"]
    lines += [f"- added: {_named(each.found)}, {counted(each.tokens, 'token')}" for each in report.taken]
    best = report.left_out[:_MOST_LEFT_OUT]
    lines += [f"- left out: {_named(each.found)}, {NOT_RECALLED[each.because]}" for each in best]
    if n_more := len(report.left_out) - len(best):
        lines.append(f"- left out: {n_more:,} more")
    return _section(f"{heading} ({report.tokens:,} of {counted(report.room_tokens, 'token')})", lines)


def _named(found: Found) -> str:
    return f"fact {found.fact_id}" if found.message_id is None else f"message {found.message_id}"


def _head(state: ContextState, n_summaries: int, n_lives: int, reader: Reader) -> str:
    estimate = state.estimate
    return (
        f"{estimate.mean:,} tokens (at most {estimate.upper:,}) of {state.budget.budget:,} for "
        f"{reader.escape(state.model.name)}: {counted(n_summaries, 'summary')} and "
        f"{counted(n_lives, 'message')} as they were said"
    )


def _section(heading: str, lines: list[str]) -> str:
    text = "\n".join(lines).strip("\n")
    return f"## {heading}\n\n{text}" if text else ""


def _rules(state: ContextState, summaries: list[SummaryPiece], reader: Reader) -> list[str]:
    """Each rule in front and in the summaries, once; with its id where it comes from a message. A rule that was taken
    back since says so."""
    rules: dict[str, str] = {}
    for piece in summaries:
        for id, text in split_standing_rules(piece.summary.text)[0]:
            rules.setdefault(text, f"[{id}] {text}")
    gone = set[str]() if state.rules is None else state.rules.taken_back()
    for item in state.front.text.removeprefix(RULES_HEAD).split("\n- ")[1:]:
        if item.startswith(TAKEN_BACK):
            gone.add(item.removeprefix(TAKEN_BACK))
        rules.setdefault(item.removeprefix(TAKEN_BACK), item.removeprefix(TAKEN_BACK))
    return [
        f"- {reader.escape(' '.join(line.split()))}{' (no longer in force)' if text in gone else ''}"
        for text, line in rules.items()
    ]


def _recalled(piece: MessagePiece, reader: Reader) -> str:
    """What was added behind a message."""
    hidden = {HEAD, FOOT, NOTE_HEAD}
    lines = [line for text in (piece.injection, piece.note) for line in text.split("\n") if line not in hidden]
    shown = [line if line.startswith(("- ", "  →")) else f"- {line.strip()}" for line in lines if line.strip()]
    return _section(f"Added behind message {piece.message.id}", [_line(line, reader) for line in shown])


def _messages(lives: list[MessagePiece], reader: Reader) -> list[str]:
    n_left = 0 if reader.most_messages is None else max(len(lives) - reader.most_messages, 0)
    earlier = [f"- … {counted(n_left, 'earlier message')}"] if n_left else []
    return earlier + [f"- {reader.escape(line)}" for line in map(_message, lives[n_left:])]


def _message(piece: MessagePiece) -> str:
    content = piece.message.content
    shortened = "" if piece.preview is None else " (shortened)"
    return f"[{piece.message.id}] {_ROLES[content.role]}{shortened}: {in_short(content)}"


def _joined(parts: Iterable[str]) -> str:
    """The parts with a semicolon between them, where the one before does not end a sentence or a clause."""
    said = ""
    for part in parts:
        said = said.rstrip()
        said += f"{' ' if said.endswith(_ENDS) else '; ' if said else ''}{part}"
    return said


def _parts(content: Content) -> Iterator[str]:
    if content.text.strip():
        yield content.text
    for part in content.parts:
        if isinstance(part, AttachmentPart | ImagePart):
            yield f"attached {part.label}"
    for call in content.calls:
        yield f"calls {call.name} {call.arguments}"
    for result in content.results:
        yield f"{result.name} {'failed' if result.is_error else 'answered'}: {result.text}"


def clip(text: str) -> str:
    """The beginning of a text, as one line of at most 200 characters."""
    line = " ".join(text[: 4 * _MESSAGE_CHARS].split())
    return line if len(line) <= _MESSAGE_CHARS and len(text) <= 4 * _MESSAGE_CHARS else f"{line[: _MESSAGE_CHARS - 1]}…"


def _line(line: str, reader: Reader) -> str:
    """A line of a text with the heading or the bullet that it has, below the page's own headings."""
    found = _LINE.fullmatch(line)
    assert found is not None
    text = reader.escape(found["text"])
    match found["mark"]:
        case None:
            return f"- {text}" if _OF_MESSAGE.match(found["text"]) else text
        case "→":
            return f"  - → {text}"
        case mark if mark.startswith("#"):
            return f"\n### {text}\n"
        case _:
            return f"{'  ' if found['indent'] else ''}- {text}"


def _span(start: MessageId, end: MessageId) -> str:
    return f"message {start}" if end - start == 1 else f"messages {start} to {end - 1}"
