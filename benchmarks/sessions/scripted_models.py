"""Models that write summaries by rule, from nothing but the transcript that they are given: what a summary with a model
costs or gains can be measured without one.

They stand for kinds of real models. *faithful* tells in plain words what the user wanted and what was done, with exact
names. *lazy* writes two sentences that fit any session. *hallucinating* writes as the faithful one does and changes
names. *mistaken* does the right names the wrong way round: each stands where another belongs, so that no check of names
can find anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.summaries.by_model import GUTTER, names_in
from palimpsest.domain.models.provider import Finished, StopReason, StreamEvent, TextDelta, TokenUsage

_RECORD = re.compile(r"\[(\d+(?:-\d+)?)\] (.+)|(note) (\d+)")
_LENGTH = re.compile(r"in at most (\d+) words\.")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_ARGUMENT = re.compile(r'"(?:command|cmd|file_path|path|filename|pattern|query)": ?("(?:[^"\\]|\\.)*")')
_TROUBLE = re.compile(r"(?:error|exception)\b|\b(?:failed|failure|traceback|not found|denied)\b", re.I)
_MOST_WORDS: Final = 30
"""Of one sentence."""
_LAZY: Final = (
    "I worked on what the user had asked for. I read some files, changed a few of them and looked at how it came out; "
    "some of it is still open."
)


@dataclass(frozen=True, slots=True)
class Record:
    """One part of a message in a transcript."""

    label: str
    """Such as `user`, `assistant`, `call of Read`, `error of Bash`, `earlier summary (hybrid, level 1)`."""
    text: str


Rule = Callable[[Sequence[Record], int], str]
"""Writes a summary of the records in at most about so many words."""


@dataclass(frozen=True, slots=True)
class ScriptedModel:
    """A provider whose answers follow a rule."""

    rule: Rule
    name: str = "scripted"

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        request = context.messages[-1].text
        wanted = _LENGTH.search(request)
        assert wanted is not None
        text = self.rule(records_of(request[: wanted.start()]), int(wanted[1]))
        yield TextDelta(text)
        usage = TokenUsage(input_tokens=context.estimated_tokens, output_tokens=len(text.encode()) // 4)
        yield Finished(StopReason.END, usage)


def records_of(transcript: str) -> list[Record]:
    """The records of a transcript: a heading, and behind it lines behind the gutter."""
    records: list[Record] = []
    for line in transcript.splitlines():
        if line.startswith(GUTTER):
            if records:
                last = records[-1]
                records[-1] = Record(last.label, f"{last.text}\n{line.removeprefix(GUTTER)}".lstrip("\n"))
        elif heading := _RECORD.fullmatch(line):
            records.append(Record(heading[2] or heading[3], ""))
    return records


def faithful(records: Sequence[Record], n_words: int) -> str:
    """What the user said, what failed, and what was done, the most telling first as long as there is room, in the order
    of the transcript."""
    sentences = [(rank, place, text) for place, each in enumerate(records) for rank, text in _told(each)]
    chosen: list[tuple[int, int, str]] = []
    left = n_words
    for number, (_, place, text) in enumerate(sorted(sentences, key=lambda each: (each[0], -each[1]))):
        if (size := len(text.split())) <= left:
            left -= size
            chosen.append((place, number, text))
    return "\n".join(f"- {text}" for _, _, text in sorted(chosen)) or _LAZY


def lazy(_: Sequence[Record], __: int) -> str:
    return _LAZY


def hallucinating(records: Sequence[Record], n_words: int) -> str:
    """Every path and identifier gets another name, as if remembered wrongly."""
    text = faithful(records, n_words)
    for name in _names(text):
        stem, dot, ending = name.rpartition(".")
        text = text.replace(name, f"{stem}_helper.{ending}" if dot else f"{name}_helper")
    return text


def mistaken(records: Sequence[Record], n_words: int) -> str:
    """Each name where the next one belongs."""
    text = faithful(records, n_words)
    names = sorted(_names(text), key=len, reverse=True)
    following = dict(zip(names, [*names[1:], *names[:1]], strict=True))
    if not following:
        return text
    return re.sub("|".join(map(re.escape, names)), lambda found: following[found[0]], text)


def _names(text: str) -> list[str]:
    found = names_in(text)
    return [*found.paths, *found.identifiers]


def _told(record: Record) -> list[tuple[int, str]]:
    """Sentences about a record, each with its rank: the lower is kept first."""
    head, _, tool = record.label.partition(" of ")
    first = _clipped(next((each.strip() for each in _SENTENCE.split(record.text) if each.strip()), ""))
    if not first:
        return []
    match head:
        case "user":
            return [(0, f"The user said: {first}")]
        case "assistant":
            return [(2, first)]
        case "call":
            return [(3, f"I used {tool} on {target}.") for target in _targets(record.text)]
        case "error" | "result":
            trouble = next((line.strip() for line in record.text.splitlines() if _TROUBLE.search(line)), "")
            return [(1, f"{tool} came out with: {_clipped(trouble)}")] if trouble else []
        case _:  # an earlier summary, or notes to be merged
            lines = [line.strip("-# ") for line in record.text.splitlines()]
            return [(1, _clipped(line)) for line in lines if len(line.split()) > 3]


def _targets(arguments: str) -> list[str]:
    found = [json.loads(each) for each in _ARGUMENT.findall(arguments)[:1]]
    return [_clipped(" ".join(each.split())) for each in found if each.strip()]


def _clipped(text: str) -> str:
    return " ".join(text.split()[:_MOST_WORDS])


SCRIPTED: Final[Mapping[str, Callable[[], ScriptedModel]]] = {
    rule.__name__: lambda rule=rule: ScriptedModel(rule)  # type: ignore[misc]
    for rule in (faithful, lazy, hallucinating, mistaken)
}
