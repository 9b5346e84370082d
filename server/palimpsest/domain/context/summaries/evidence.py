"""What messages say, line by line: what a user said, what was done and how it came out, what was answered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain import foreign_json
from palimpsest.domain.messages import Content, MessageId, Role, ToolCallPart, ToolResultPart
from palimpsest.domain.offline_texts import is_fixed, without_fixed_texts

SAID, DONE, ANSWERED, EXCERPTS = "Said by the user", "Done", "Answered", "Excerpts"

_LINE_CHARS: Final = 280
_READ_CHARS: Final = 8_000
"""Of what somebody said; of what a tool was given or printed half of it from each end."""
_MOST_SENTENCES: Final = 40
"""Of one message."""

_RULE = re.compile(
    r"\b(must(n't| not)?|never|always|only|do not|don't|should(n't)?|prefer|instead of|make sure|from now on|required?"
    r"|avoid|keep|use|no longer|we decided|decided to|let's)\b",
    re.I,
)
TROUBLE = re.compile(r"\b(error|fail(ed|ure|s)?|exception|denied|not found|traceback)\b", re.I)
_ANNOUNCED = re.compile(
    r"(?:(?:ok(?:ay)?|good|great|perfect|now|next|first|then|progress|alright|excellent)\b[\s,.!:]*)*"
    r"(?:(?:let me|let's|i'll|i will|i'm going to|i need to|i should)\b|$)",
    re.I,
)
"""What somebody is about to do; what was done says it better."""
NAME = re.compile(
    r"(?<!\w)[A-Za-z]:(?:[\\/]{1,2}[\w.@~$+-]+)+"
    r"|(?<![\w.~@/-])(?:[\w.~@-]*+/)+[\w.@-]+"
    r"|\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w+)+\b"
    r"|\b[A-Za-z]\w*_\w+\b"
    r"|\b[a-z]+(?:[A-Z][a-z0-9]+)+\w*\b|\b(?:[A-Z][a-z0-9]+){2,}\b"
    r"|\b[0-9a-f]{7,40}\b|(?<!\w)--[a-z][a-z-]{2,}"
)
_TROUBLE_FIRST = re.compile(rf"(?:<[\w-]+>)?\W*(?:\w+ )?{TROUBLE.pattern}", re.I)
_RAISED = re.compile(r"(?<![\w.])(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Panic)(?:: \S|$)")
"""As a program's last words name an exception."""
_ENDED = re.compile(
    r"\b(?:exit|exited|return|returned)(?:[ _-](?:with|a|non-zero|exit)){0,3}[ _-](?:code|status)\W{1,4}(\d{1,10})\b"
    r"|\b(?:by|on|with) signal (\d{1,3})\b",
    re.I,
)
"""How a command ended."""
_NO_TROUBLE = re.compile(r"\b(no|0|zero|without) (errors?|failures?|failed)\b", re.I)
_FAILED = re.compile(r"[\w.:-]+ failed: ")
_CALL = re.compile(r"[\w.:-]+\(.*\)?\Z")
_ACTED_ON, _SPOKEN, _PRINTED = 6, 4, 1
"""What a name counts by where it stands."""
_SHORT_LINES: Final = 3
"""A result of so many lines says something by its last; of a longer one that is a line of a file, or a row."""
_MOST_EXCERPTS: Final = 8
_TELLING_WORDS: Final = 5
"""Beside the names, from which on a line says something about them."""
_TAG = re.compile(r"</?[\w-]+>")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]{2,}")
_CHANGED_FOLDER = re.compile(r"cd \S+ (?:&&|;) ")
_FENCED = re.compile(r"^[ ]{0,3}```[^\n]*\n(.*?)(?:^[ ]{0,3}```[ ]*$|\Z)", re.M | re.S)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\s])|\n+")
STORED = re.compile(r"- \[(\d+)\] (.*)")


@dataclass(frozen=True, slots=True)
class Line:
    message_id: int
    text: str
    weight: float
    """Larger is kept longer."""
    names: tuple[str, ...]
    is_telling: bool
    """Whether it says something about what it names."""


@dataclass(slots=True)
class Evidence:
    """Of some messages and of what earlier blocks kept of others, read in their order."""

    lines: dict[str, list[Line]] = field(default_factory=lambda: {SAID: [], DONE: [], ANSWERED: [], EXCERPTS: []})
    """By store."""
    names: Counter[str] = field(default_factory=Counter)
    """How often, and in what: what something was done with counts most, what a tool printed least."""
    _commands: set[str] = field(default_factory=set)
    """The ids of calls that ran one."""
    _outcomes: dict[str, int] = field(default_factory=dict)
    """For what came out, but for names and numbers, the newest line that says so."""

    def read(self, message_id: MessageId, content: Content) -> None:
        text = without_fixed_texts(content.text) if content.role is Role.ASSISTANT else content.text
        self._count(text[:20_000], _SPOKEN)
        prose, code = _prose_and_code(text[:_READ_CHARS])
        self._excerpt(message_id, "", code)
        match content.role:
            case Role.USER:
                sentences = _sentences(prose)
                # A long paste is quoted by its beginning: what people ask stands first or last.
                for index, sentence in enumerate(sentences):
                    weight = 2.0 if _RULE.search(sentence) and not sentence.endswith("?") else 1.0
                    weight += 1.0 if index == 0 else 0.5 if index == len(sentences) - 1 else 0.0
                    self._add(SAID, message_id, sentence, weight)
            case Role.ASSISTANT:
                sentences = _sentences(prose)
                for index, sentence in enumerate(sentences):
                    weight = _weight(ANSWERED, sentence) * (1.0 if index in (0, len(sentences) - 1) else 0.5)
                    self._add(ANSWERED, message_id, sentence, weight)
                for call in content.calls:
                    self._read_call(message_id, call)
            case Role.TOOL:
                for result in content.results:
                    self._read_result(message_id, result)

    def _read_call(self, message_id: int, call: ToolCallPart) -> None:
        arguments = arguments_of(call)
        if command_in(arguments):
            self._commands.add(call.call_id)
        said = f"{call.name}({_brief(arguments) if arguments else squeeze(call.arguments[:120])})"
        self._count(said, _ACTED_ON)
        self._add(DONE, message_id, said, 1.0)
        for value in arguments.values():
            if isinstance(value, str):
                self._excerpt(message_id, f"{call.name}: ", _bounded_lines(value))

    def _read_result(self, message_id: int, result: ToolResultPart) -> None:
        lines = _bounded_lines(result.text)
        is_command = result.call_id in self._commands
        outcome = _outcome(lines, is_command=is_command)
        if result.is_error or is_trouble(outcome, is_command=is_command):
            self._add(DONE, message_id, f"{result.name} failed: {outcome}", 2.0)
        elif (is_command or len(lines) <= _SHORT_LINES) and len(_WORD.findall(outcome)) > 1:
            self._add(DONE, message_id, f"{result.name}: {outcome}", 0.5)
        self._excerpt(message_id, f"{result.name}: ", lines)

    def _excerpt(self, message_id: int, whose: str, lines: Sequence[str]) -> None:
        """Lines of code, or of what a tool was given or printed: those with the most names."""
        named = [(names, line) for line in lines if (names := names_of(line))]
        self.count_printed(dict.fromkeys(name for names, _ in named for name in names))
        if len(lines) > 1 or not whose:
            named = [each for each in named if len(each[1]) <= _LINE_CHARS]
            for names, line in sorted(named, key=lambda each: -len(each[0]))[:_MOST_EXCERPTS]:
                self._keep(EXCERPTS, message_id, whose + squeeze(line), 0.0, names)

    def read_back(self, heading: str, message_id: int, text: str) -> None:
        """A line that an earlier block kept."""
        if is_fixed(text):
            return
        self._count(text, _ACTED_ON if heading == DONE and _CALL.match(text) else _SPOKEN)
        self._add(heading, message_id, text, _weight(heading, text))

    def count_printed(self, names: Iterable[str]) -> None:
        """Names in what a tool printed, or of which an earlier block kept nothing else."""
        for name in names:
            self.names[name] += _PRINTED

    def _count(self, text: str, weight: int) -> None:
        for name in names_of(text):
            self.names[name] += weight

    def _add(self, heading: str, message_id: int, text: str, weight: float) -> None:
        self._keep(heading, message_id, text, weight, names_of(text))
        if heading == DONE and not _CALL.match(text):
            self._outdate(_NUMBER.sub("0", NAME.sub("", text)))

    def _keep(self, heading: str, message_id: int, text: str, weight: float, names: Sequence[str]) -> None:
        is_telling = bool(names) and len(_WORD.findall(NAME.sub(" ", text))) >= _TELLING_WORDS
        self.lines[heading].append(Line(message_id, text, weight, tuple(names), is_telling))

    def _outdate(self, outcome: str) -> None:
        """What comes out again is told by the newest line; an older one only by the names in it."""
        lines = self.lines[DONE]
        if (before := self._outcomes.get(outcome)) is not None:
            lines[before] = replace(lines[before], weight=0.0)
        self._outcomes[outcome] = len(lines) - 1


def _weight(heading: str, text: str) -> float:
    if heading == SAID:
        return 2.0 if _RULE.search(text) else 1.0
    if heading == DONE:
        return 2.0 if _FAILED.match(text) else 1.0 if _CALL.match(text) else 0.5
    if heading == EXCERPTS:
        return 0.0
    return 0.2 if _ANNOUNCED.match(text) else 1.0


def names_of(text: str) -> list[str]:
    """The exact names in a text, in its order: a set's order would differ from one process to the next."""
    return list(dict.fromkeys(NAME.findall(text)))


def _prose_and_code(text: str) -> tuple[str, list[str]]:
    """The text without its fenced blocks, and the lines of these."""
    fenced = [match[1] for match in _FENCED.finditer(text)]
    return _FENCED.sub("\n", text), _bounded_lines("\n".join(fenced))


def _sentences(prose: str) -> list[str]:
    return [squeeze(part) for part in _SENTENCE.split(prose) if part.strip()][:_MOST_SENTENCES]


def squeeze(text: str) -> str:
    """One line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE_CHARS else line[: _LINE_CHARS - 1] + "…"


def arguments_of(call: ToolCallPart) -> Mapping[str, object]:
    """By name; empty where they are no JSON object."""
    return foreign_json.object_in(call.arguments) or {}


def command_in(arguments: Mapping[str, object]) -> str:
    """The command that a call runs; empty where it runs none."""
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, list):
        command = " ".join(str(word) for word in command)
    return command.strip() if isinstance(command, str) else ""


def is_trouble(outcome: str, *, is_command: bool) -> bool:
    """Whether what a result says (`outcome_of`) means that the call failed. A file that was read may speak of errors
    without one having happened."""
    if not is_command:
        return _TROUBLE_FIRST.match(outcome) is not None
    if _RAISED.search(outcome) or _end_in(outcome):
        return True
    return TROUBLE.search(outcome) is not None and _NO_TROUBLE.search(outcome) is None


def _brief(arguments: Mapping[str, object]) -> str:
    """Long values cut short; what only steers the call is left out where there is more."""
    told = {key: each for key, each in arguments.items() if isinstance(each, str | list | dict)} or arguments
    return squeeze(", ".join(f"{key}={_clip(str(each))}" for key, each in told.items()))


def _clip(text: str) -> str:
    line = _CHANGED_FOLDER.sub("", " ".join(text[:_READ_CHARS].split()), count=1)
    longest = 160 if "/" in line and " " not in line else 80
    return line if len(line) <= longest else line[: longest - 1] + "…"


def outcome_of(text: str, *, is_command: bool) -> str:
    """The line of a result that tells most: what was raised, else the first line that speaks of trouble, else the last
    that says something. Of a command the words for how it ended stand behind it, unless it ended well."""
    return _outcome(_bounded_lines(text), is_command=is_command)


def _outcome(lines: Sequence[str], *, is_command: bool) -> str:
    raised = next((line for line in lines if _RAISED.search(line)), None)
    trouble = raised or next((line for line in lines if TROUBLE.search(line)), None)
    telling = [line for line in lines if len(_WORD.findall(_TAG.sub("", line))) > 1]
    said = next((line for line in reversed(telling) if not _ENDED.search(line)), telling[-1] if telling else "")
    outcome = squeeze(trouble or said or (lines[-1] if lines else ""))
    end = next((end for line in reversed(lines) if (end := _end_in(line))), "")
    if not is_command or not end or _end_in(outcome):
        return outcome
    behind = f"; {end}"
    return outcome + behind if len(outcome) + len(behind) <= _LINE_CHARS else outcome[: -len(behind) - 1] + "…" + behind


def _end_in(line: str) -> str:
    """How a command ended by that line; empty where it does not say, or where it ended well."""
    match = _ENDED.search(line)
    if match is None or not int(match[1] or match[2]):
        return ""
    return match[0]


def _bounded_lines(text: str) -> list[str]:
    """Lines of the beginning and the end of a text, empty ones left out; bounded however large it is."""
    ends: Iterable[str] = (text,) if len(text) <= _READ_CHARS else (text[: _READ_CHARS // 2], text[-_READ_CHARS // 2 :])
    return [line.strip() for end in ends for line in end.splitlines() if line.strip()]
