"""Reading messages: the sentences of a text, what a call was given, and how it came out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from palimpsest.domain import foreign_json
from palimpsest.domain.context.notebook.names import NAME
from palimpsest.domain.messages import ToolCallPart

RULE: Final = re.compile(
    r"\b(must(n't| not)?|never|always|only|do not|don't|should(n't)?|prefer|instead of|make sure|from now on|required?"
    r"|avoid|keep|use|no longer|we decided|decided to|let's)\b",
    re.I,
)
"""A sentence that may ask for something lasting. For weights only: `rules` decides what a rule is."""
TROUBLE: Final = re.compile(r"\b(error|fail(ed|ure|s)?|exception|denied|not found|traceback)\b", re.I)
ANNOUNCED: Final = re.compile(
    r"(?:(?:ok(?:ay)?|good|great|perfect|now|next|first|then|progress|alright|excellent)\b[\s,.!:]*)*"
    r"(?:(?:let me|let's|i'll|i will|i'm going to|i need to|i should)\b|$)",
    re.I,
)
"""A sentence about what somebody is about to do: what was done says it better."""
_POLITE: Final = re.compile(
    r"(?:(?:ah|oh|yes|no|of course|good|great|ok(?:ay)?|i see)\b[\s,.!:-]*)*"
    r"(?:you(?:'re|'ve| are| were| have| make| raise| bring)|that(?:'s| is| was| sounds)|this is"
    r"|i(?:'m| am| apologi[sz]e| completely| totally| appreciate| understand)"
    r"|thank(?:s| you)|(?:what )?an? (?:good|great|excellent))\b"
    r".{0,60}?\b(?:right|points?|question|idea|call|catch|cautious|understandable|sorry|apologi[sz]e|great|perfect"
    r"|excellent|wonderful|agree|thank(?:s| you)|feedback|confusion|observation|concerns?)\b(?:\W+\w+){0,2}\W*$",
    re.I,
)
"""A sentence of agreement, praise or regret alone."""

_LINE_CHARS: Final = 280
_READ_CHARS: Final = 8_000
"""Of a result: the characters that are read for its outcome, half from each end."""
_MOST_SENTENCES: Final = 40
"""Of one message."""
_TROUBLE_FIRST = re.compile(rf"(?:<[\w-]+>)?\W*(?:\w+ )?{TROUBLE.pattern}", re.I)
_RAISED = re.compile(r"(?:E\s+)?(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Panic)(?:: \S|$)")
"""As a program's last words name an exception."""
_TROUBLE_LINE = re.compile(
    r"\W*(?i:(?:error|fatal|exception|panic)(?:\[\w+\])?\s*[:!(]|failed to\b|traceback \()"
    r"|(?![✓✔√])\W*FAILED\b|(?![✓✔√])\W*(?:\w+ )?(?i:error|failed|failure)\W*$"
    r"|.{1,80}(?i:command not found|no such file or directory|permission denied)\W*$"
)
"""A line that says of itself that something went wrong."""
_TALLY = re.compile(r"\b(\d{1,6}) (?:tests? )?(?:fail(?:ed|ures?|ing)?|errors?)\b", re.I)
"""How many of what was tried failed."""
_ENDED = re.compile(
    r"\b(?:exit|exited|return|returned)(?:[ _-](?:with|a|non-zero|exit)){0,3}[ _-](?:code|status)\W{1,4}(\d{1,10})\b"
    r"|\b(?:by|on|with) signal (\d{1,3})\b",
    re.I,
)
"""How a command ended."""
REPLACED: Final = ("old_string", "oldText", "old_str")
"""The arguments of an edit that hold what it takes away."""
_CHAINED = re.compile(r"&&|\|\||[;|\n]")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_RUNNERS: Final = frozenset(("sudo", "time", "timeout", "env", "npx", "bunx", "uvx", "exec", "command"))
_LOOKING: Final = frozenset(
    "ls cat head tail grep rg egrep find fd which wc echo cd pwd sort uniq cut awk sed tr test [ true sleep tree stat"
    " export source printf less more column jq kill pkill".split()
)
"""Programs that change and check nothing."""
_TAG = re.compile(r"</?[\w-]+>")
_WORD = re.compile(r"[^\W\d_]{2,}")
_FEWEST_WORDS: Final = 4
"""Of a sentence that names nothing."""
_FENCED = re.compile(r"^[ ]{0,3}```[^\n]*\n(.*?)(?:^[ ]{0,3}```[ ]*$|\Z)", re.M | re.S)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[^\s])|\n+")


def prose_and_code(text: str) -> tuple[str, list[str]]:
    """The text without its fenced blocks, and the lines of these."""
    fenced = [match[1] for match in _FENCED.finditer(text)]
    return _FENCED.sub("\n", text), bounded_lines("\n".join(fenced))


def sentences_of(prose: str) -> list[str]:
    """The first sentences of a text, each one line of bounded length."""
    return [squeeze(part) for part in _SENTENCE.split(prose) if part.strip()][:_MOST_SENTENCES]


def says_something(sentence: str) -> bool:
    """Whether a sentence of an assistant is more than a word of joy, or of what comes next."""
    if NAME.search(sentence) is not None:
        return True
    return (
        ANNOUNCED.match(sentence) is None
        and _POLITE.match(sentence) is None
        and len(_WORD.findall(sentence)) >= _FEWEST_WORDS
    )


def by_sentence(text: str) -> str:
    """The text with each of its sentences on a line of its own."""
    return "\n".join(_SENTENCE.split(text))


def squeeze(text: str, most_chars: int = _LINE_CHARS) -> str:
    """One line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= most_chars else line[: most_chars - 1] + "…"


def tool_label(name: str) -> str:
    """A tool's name comes from a model: only what names are made of may stand in a heading, or in a page."""
    return re.sub(r"[^\w.:-]", "_", name)[:80]


def arguments_of(call: ToolCallPart) -> Mapping[str, object]:
    """By name; empty where they are no JSON object."""
    return foreign_json.object_in(call.arguments) or {}


def command_in(arguments: Mapping[str, object]) -> str:
    """The command that a call runs; empty where it runs none."""
    command = arguments.get("command", arguments.get("cmd"))
    if isinstance(command, list):
        command = " ".join(str(word) for word in command)
    return command.strip() if isinstance(command, str) else ""


def tries_of(call: ToolCallPart) -> frozenset[str]:
    """What a call tries, such as `mix test`: where a later call does the same and ends well, it is resolved. Empty for
    a call that only looks at something."""
    arguments = arguments_of(call)
    if any(name in arguments for name in REPLACED):
        path = next((value for name in ("file_path", "path") if isinstance(value := arguments.get(name), str)), "")
        return frozenset({path} if path else ())
    tried: set[str] = set()
    for part in _CHAINED.split(command_in(arguments)[:_LINE_CHARS]):
        words = [word for word in part.split() if not _ASSIGNED.match(word)]
        while words and words[0] in _RUNNERS:
            words = words[1:]
        if words and words[0].rpartition("/")[2] not in _LOOKING:
            plain = [word for word in words[1:] if not word.startswith("-")]
            tried.add(" ".join([words[0].rpartition("/")[2], *plain[:1]]))
    return frozenset(tried)


def has_failed(lines: Sequence[str], *, is_command: bool) -> bool:
    """Whether a result says that its call failed. What a command says of its end decides, then a tally of what failed;
    else a line that begins with trouble, because what it printed may speak of errors without one having happened. Of
    anything else the first line decides."""
    if not is_command:
        return bool(lines) and _TROUBLE_FIRST.match(squeeze(lines[0])) is not None
    ends = [match for line in lines if (match := _ENDED.search(line))]
    if ends:
        return int(ends[-1][1] or ends[-1][2]) != 0
    tallies = [int(tally) for line in lines for tally in _TALLY.findall(line)]
    if tallies:
        return any(tallies)
    return any(_RAISED.match(line) or _TROUBLE_LINE.match(line) for line in lines)


def outcome_in(lines: Sequence[str], *, is_command: bool) -> str:
    """The line of a result that tells most: of a command that failed, and of anything else, what was raised, or else
    the first line that speaks of trouble; else the last that says something. Of a command the words for how it ended
    stand behind it, unless it ended well."""
    trouble = None
    if not is_command or has_failed(lines, is_command=True):
        patterns = (_RAISED.match, _TROUBLE_LINE.match, TROUBLE.search)
        trouble = next((line for matches in patterns for line in lines if matches(line)), None)
    telling = [line for line in lines if len(_WORD.findall(_TAG.sub("", line))) > 1]
    said = next((line for line in reversed(telling) if not _ENDED.search(line)), telling[-1] if telling else "")
    outcome = squeeze(trouble or said or (lines[-1] if lines else ""))
    end = next((end for line in reversed(lines) if (end := _end_in(line))), "")
    if not is_command or not end or _end_in(outcome):
        return outcome
    behind = f"; {end}"
    return outcome + behind if len(outcome) + len(behind) <= _LINE_CHARS else outcome[: -len(behind) - 1] + "…" + behind


def bounded_lines(text: str) -> list[str]:
    """Lines of the beginning and the end of a text, empty ones left out; bounded however large it is."""
    ends: Iterable[str] = (text,) if len(text) <= _READ_CHARS else (text[: _READ_CHARS // 2], text[-_READ_CHARS // 2 :])
    return [line.strip() for end in ends for line in end.splitlines() if line.strip()]


def _end_in(line: str) -> str:
    """How a command ended by that line; empty where it does not say, or where it ended well."""
    match = _ENDED.search(line)
    if match is None or not int(match[1] or match[2]):
        return ""
    return match[0]
