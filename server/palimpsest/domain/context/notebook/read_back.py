"""The lines of a page, read back as entries.

A notebook keeps the entries of the newest messages of a long conversation. Of older messages it keeps what the page
that stands for them told: the choice of the next page is then made among lines that were good enough for the last one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from palimpsest.domain.context.notebook.entry import DETAILS, DONE, NAMED, SAID, USER_WROTE, Entry, Sentence
from palimpsest.domain.context.notebook.fragments import SEPARATOR, Fragment, Kind
from palimpsest.domain.context.notebook.names import n_words, names_in
from palimpsest.domain.context.rules.rule_set import split_standing_rules
from palimpsest.domain.context.tokens import CountText
from palimpsest.domain.messages import MessageId, Role

_LINE = re.compile(r"- \[([0-9]{1,18})\] (.*)")
_RESULT = re.compile(r"  → (?:\[([0-9]{1,18})\] )?(.*)")
_DETAIL = re.compile(r"\[([0-9]{1,18})\] (.*)")
_BETWEEN = re.compile(rf"{SEPARATOR}|(?=\\n)")
_LEAD = re.compile(r"(?:\\n)?(?:\\t| )?")
"""What stands before a fragment that is a line of a quoted text."""
_ALSO = re.compile(r"(?:also|names) (.*)")


@dataclass(slots=True)
class _Found:
    """What a page tells of one message."""

    role: Role
    answers: MessageId | None = None
    fragments: list[Fragment] = field(default_factory=list)
    said: list[Sentence] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)
    """As shown, by key."""


def read_back(text: str, start: MessageId, end: MessageId, count: CountText) -> Iterator[tuple[Entry, dict[str, str]]]:
    """The entries of the messages [start, end) that the page in `text` tells of, ascending, each with its names as
    shown, by key. What stands in the text beside a page, such as standing rules or a model's prose, is no entry.

    A message is a call or a result, as the first line about it says, and a result comes behind its call, whatever the
    text says: it may come from a file that somebody else wrote."""
    found: defaultdict[MessageId, _Found] = defaultdict(lambda: _Found(Role.ASSISTANT))
    heading, call = "", None
    for line in split_standing_rules(text)[1].split("\n"):
        if line.startswith("## "):
            heading, call = line[3:], None
        elif heading == NAMED:
            found[start].names.update(names_in(line))
        elif heading == SAID and (match := _LINE.fullmatch(line)):
            if start <= (id := MessageId(int(match[1]))) < end:
                found[id].role = Role.USER
                found[id].said.append(Sentence(match[2], 2.0))
                found[id].names.update(names_in(match[2]))
        elif heading == DONE and (match := _LINE.fullmatch(line)):
            call = MessageId(int(match[1]))
            if not start <= call < end or found[call].answers is not None:
                call = None
            else:
                text = match[2].removeprefix(f"{USER_WROTE}: ")
                found[call].role = Role.USER if text != match[2] else found[call].role
                _take(found[call], text, count)
        elif heading == DETAILS and (match := _DETAIL.fullmatch(line)):
            if start <= (id := MessageId(int(match[1]))) < end:
                text = match[2].removeprefix(f"{USER_WROTE}: ")
                found[id].role = Role.USER if text != match[2] else found[id].role
                _take(found[id], text, count)
        elif heading == DONE and call is not None and (match := _RESULT.fullmatch(line)):
            id = MessageId(int(match[1])) if match[1] else MessageId(call + 1)
            if call < id < end and (id not in found or found[id].answers == call):
                found[id].role, found[id].answers = Role.TOOL, call
                _take(found[id], match[2], count)
    for id in sorted(found):
        each = found[id]
        names = tuple(each.names)
        yield Entry(id, each.role, names, tuple(each.fragments), tuple(each.said), answers=each.answers), each.names


def _take(found: _Found, text: str, count: CountText) -> None:
    """A line: fragments with a dot between them, and bare names at its end."""
    for shown in filter(None, _BETWEEN.split(text)):
        match = _LEAD.match(shown)
        lead = match[0] if match else ""
        part = shown[len(lead) :]
        names = names_in(part)
        found.names.update(names)
        if _ALSO.fullmatch(part) is None:
            size = count(lead + part) + 2
            found.fragments.append(Fragment(part, tuple(names), size, 0.3, Kind.LINE, n_words(part), lead))
