"""A conversation as a text document that any editor can show: `NAME.chat.md`.

    <!-- palimpsest-chat 1: … -->                 the head: an explanation for readers
    # Title
    ## 0 · you                                    a message: its id and its author, then its text
    ## 0 · by ann                                 the same, of somebody else in a shared conversation
    ## 1 · assistant
    ### 1 · calls read_file                       a call, its arguments indented
    ## 2 · tool read_file                         a result, indented
    ## 0-2 · summary 4                            the summary that replaces messages 0 to 2 in the context
    <!-- palimpsest-input: … -->                  the input: everything below this line is the user's

Only lines that begin like one of these are structure. When a line of a message begins so, behind any number of
backslashes, it is written with one backslash more, so no message can look like structure. Other characters that some
programs take for the end of a line (a form feed, U+2028) become `\\n`, the only end of line in this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from palimpsest.domain.chat_documents.changes import Change, change_between
from palimpsest.domain.context.summaries.node import Summary
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    ImagePart,
    MessageId,
    MessageStatus,
    Part,
    Role,
    clean_text,
)
from palimpsest.domain.turns.journal import EventType, JournalEvent
from palimpsest.wording import counted

SUFFIX: Final = ".chat.md"
HEAD: Final = (
    "<!-- palimpsest-chat 1: a view of a conversation. What is changed above the last line like this one changes "
    "nothing. -->"
)
MARKER: Final = "<!-- palimpsest-input: write your next message below this line, then send it. -->"
BREAK: Final = "\n\n"
MOST_SHOWN: Final = 400
"""The number of messages that a document shows; older ones are left out."""
_MOST_OF_RESULT: Final = 4_000
"""The number of characters of a tool's arguments or result that a document shows."""

_HEAD_START: Final = "<!-- palimpsest-chat "
_MARKER_START: Final = "<!-- palimpsest-input"
_STRUCTURE: Final = re.compile(r"^\\{0,99}(?:#{2,3} [0-9]|<!-- palimpsest-)", re.MULTILINE)
_MAY_BECOME: Final = re.compile(r"\\{0,99}(?:#{1,3}|#{2,3} |<(?:!(?:-(?:-(?: p?[a-z]{0,9}-?)?)?)?)?)?")
"""The beginning of a line that may still become structure. The limits of repetition bound its length."""
_ENDS: Final = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_HEADING: Final = re.compile(r"(#{2,3}) ([0-9]{1,18})(?:-([0-9]{1,18}))? · (.*)")
_SUMMARY: Final = re.compile(r"summary ([0-9]{1,18})")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")


# --------------------------------------------------------------------------------------------------------- the text


def escape(text: str) -> str:
    """The form of a message's text in a document."""
    return _STRUCTURE.sub(lambda match: f"\\{match[0]}", _plain(text))


def _plain(text: str) -> str:
    return _ENDS.sub("\n", clean_text(text)[0])


@dataclass(slots=True)
class EscapedStream:
    """Like `escape`, for text that comes in pieces. A beginning of a line that may become structure is held back."""

    _held: str = ""
    _is_at_start: bool = True

    def feed(self, text: str) -> str:
        text = self._held + text
        if text.endswith("\r"):  # a `\n` may follow
            held, text = "\r", text[:-1]
        else:
            held = ""
        text = _plain(text)
        start = text.rfind("\n") + 1
        if (start or self._is_at_start) and _MAY_BECOME.fullmatch(text, start):
            held, text = text[start:] + held, text[:start]
        self._held = held
        return self._pass(text)

    def end(self) -> str:
        """The text that was held back; no more comes."""
        held, self._held = self._held, ""
        return self._pass(_plain(held))

    def _pass(self, text: str) -> str:
        if not text:
            return ""
        if self._is_at_start:
            shown = escape(text)
        else:  # the first line goes on
            line, end, rest = text.partition("\n")
            shown = f"{line}{end}{escape(rest)}"
        self._is_at_start = text.endswith("\n")
        return shown


def _indented(text: str) -> str:
    """The text as a code block, shortened. No line of it begins like structure."""
    shown, left = _plain(text)[:_MOST_OF_RESULT], len(text) - _MOST_OF_RESULT
    lines = [f"    {line}".rstrip() if not line.strip() else f"    {line}" for line in shown.split("\n")]
    if left > 0:
        lines += ["", f"    … {counted(left, 'character')} more."]
    return "\n".join(lines)


def one_line(text: str, most: int = 60) -> str:
    """The text on one line of at most `most` characters."""
    flat = " ".join(_plain(text).split())
    return flat if len(flat) <= most else f"{flat[: most - 1]}…"


# -------------------------------------------------------------------------------------------------------- rendering


@dataclass(frozen=True, slots=True)
class Shown:
    """The part of a conversation that a document shows."""

    title: str
    messages: Sequence[StoredMessage]
    """The newest messages that are not hidden, at most MOST_SHOWN and a few, oldest first."""
    summaries: Sequence[Summary] = ()
    """The summaries in the context."""
    asides: Sequence[tuple[int, str]] = ()
    """Answers of commands, which are no messages: the number of messages before each, and its text."""
    authors: Mapping[MessageId, str] = field(default_factory=dict)
    """Who wrote messages of a shared conversation, without the user's own."""


def render(shown: Shown) -> str:
    """The view: all text above the input, without an end of line at its end."""
    sections: list[tuple[float, str]] = []
    first = shown.messages[0].id if shown.messages else 0
    if first > 0:
        sections.append((-1, f"## 0-{first - 1} · not shown here"))
    for each in shown.messages:
        sections.append((each.id, message_section(each.id, each.content, shown.authors.get(each.id))))
    sections += [(each.end - 0.6, _summary_section(each)) for each in shown.summaries if each.end > first]
    sections += [(number - 0.5, text) for number, text in shown.asides]
    sections.sort(key=lambda each: each[0])
    return BREAK.join([HEAD, f"# {escape(one_line(shown.title)) or 'A conversation'}", *(text for _, text in sections)])


def message_section(message_id: int, content: Content, author: str | None = None) -> str:
    match content.role:
        case Role.USER:
            return user_section(message_id, content, author)
        case Role.ASSISTANT:
            calls = "".join(_call_section(message_id, call.name, call.arguments) for call in content.calls)
            return f"{_assistant_heading(message_id)}{escape(content.text)}{calls}{_ending(message_id, content.status)}"
        case Role.TOOL:
            pictures = "".join(f"\n{image.line()}" for image in content.images)
            return BREAK.join(
                _result_section(message_id, result.name, f"{result.text}{pictures}") for result in content.results
            )


def user_section(message_id: int, content: Content, author: str | None = None) -> str:
    """`author`: who wrote it, when it was not the user."""
    name = "you" if author is None else f"by {one_line(author)}"
    labels = [f"> Attached: {label}" for part in content.parts if (label := _attached(part)) is not None]
    return BREAK.join([f"## {message_id} · {name}", *(["\n".join(labels)] if labels else []), escape(content.text)])


def _attached(part: Part) -> str | None:
    match part:
        case AttachmentPart():
            return one_line(part.label)
        case ImagePart():
            return escape(part.line())
        case _:
            return None


def aside(number: int, command: str, answer: str) -> str:
    """The section of a command and its answer, behind `number` messages."""
    return BREAK.join([f"### {number} · {one_line(command)}", escape(answer)])


def _assistant_heading(message_id: int) -> str:
    return f"## {message_id} · assistant{BREAK}"


def _call_section(message_id: int, name: str, arguments: str) -> str:
    return f"{BREAK}### {message_id} · calls {one_line(name)}{BREAK}{_indented(arguments)}"


def _result_section(message_id: int, name: str, text: str) -> str:
    return BREAK.join([f"## {message_id} · tool {one_line(name)}", _indented(text)])


def _ending(message_id: int, status: MessageStatus) -> str:
    return (
        "" if status is MessageStatus.COMPLETE else f"{BREAK}### {message_id} · {status.value}: this is all that came"
    )


def _summary_section(summary: Summary) -> str:
    return BREAK.join([f"## {summary.start}-{summary.end - 1} · summary {summary.id}", escape(summary.text)])


@dataclass(slots=True)
class AnswerStream:
    """The messages of an answer as they come: the text to add to the view for each event.

    All additions together equal `message_section` of the stored messages, if every call is answered in its turn.
    """

    next_id: int
    _text: EscapedStream | None = None
    """The text of the message that is coming; None between messages."""
    _calls: dict[str, list[str]] = field(default_factory=dict)
    """Names and arguments of its calls, by id."""

    def feed(self, event: JournalEvent) -> str:
        match event.type:
            case EventType.TEXT:
                opening = self._open()
                assert self._text is not None
                return opening + self._text.feed(event.text)
            case EventType.TOOL_CALL:
                self._calls[event.call_id or ""] = [event.name or "", ""]
            case EventType.TOOL_ARGUMENTS:
                self._calls.setdefault(event.call_id or "", ["", ""])[1] += event.text
            case EventType.DONE:
                return self._close()
            case EventType.TOOL_RESULT:
                closing = self._close()
                section = _result_section(self.next_id, event.name or "", event.text)
                self.next_id += 1
                return f"{closing}{BREAK}{section}"
            case _:
                pass
        return ""

    def end(self) -> str:
        """The text to add when the answer has ended."""
        rest = "" if self._text is None else self._text.end()
        self._text = None
        return rest

    def _open(self) -> str:
        if self._text is not None:
            return ""
        self._text = EscapedStream()
        return f"{BREAK}{_assistant_heading(self.next_id)}"

    def _close(self) -> str:
        if self._text is None and not self._calls:
            return ""
        shown = self._open() + self.end()
        shown += "".join(_call_section(self.next_id, name, written or "{}") for name, written in self._calls.values())
        self._calls.clear()
        self.next_id += 1
        return shown


# ---------------------------------------------------------------------------------------------------------- reading


class Unsendable(StrEnum):
    """The reason why the input cannot be sent."""

    EMPTY = "empty"
    ONLY_FENCED = "only_fenced"


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of the document that begins with a heading."""

    line: int
    last_line: int
    depth: int
    """2 for a message or summary, 3 for a part of one."""
    first_id: int
    last_id: int
    what: str
    """The heading behind the dot."""

    @property
    def summary_id(self) -> int | None:
        match = _SUMMARY.fullmatch(self.what)
        return None if match is None else int(match[1])


@dataclass(frozen=True, slots=True)
class Parsed:
    """The parts of a document's text. Offsets count characters."""

    is_chat: bool
    """Whether the document claims to be a chat. Anyone can write that claim, so nothing may depend on it."""
    sections: tuple[Section, ...]
    marker_line: int | None
    view_end: int
    """The end of the view, before the empty line above the input's; the end of the text without an input."""
    input_start: int
    """The beginning of the message, behind empty lines."""
    message: str
    """The text that would be sent, without empty lines around it."""

    @property
    def problem(self) -> Unsendable | None:
        if not self.message.strip():
            return Unsendable.EMPTY
        return Unsendable.ONLY_FENCED if _is_only_fenced(self.message) else None


def parse(text: str) -> Parsed:
    """Parses a text whose lines end with `\\n`. The first input line counts."""
    lines = text.split("\n")
    marker = next((number for number, line in enumerate(lines) if line.startswith(_MARKER_START)), None)
    n_above = len(lines) if marker is None else marker
    sections = tuple(_sections(lines[:n_above]))
    is_chat = lines[0].startswith(_HEAD_START)
    if marker is None:
        return Parsed(is_chat, sections, None, len(text), len(text), "")
    at = sum(len(line) + 1 for line in lines[:marker])
    view_end = max(0, at - len(text[:at]) + len(text[:at].removesuffix(BREAK)))
    below = min(at + len(lines[marker]) + 1, len(text))
    start = below + len(text[below:]) - len(text[below:].lstrip("\n"))
    return Parsed(is_chat, sections, marker, view_end, start, text[start:].rstrip())


def _sections(lines: Sequence[str]) -> Iterable[Section]:
    heads = [(number, match) for number, line in enumerate(lines) if (match := _HEADING.fullmatch(line)) is not None]
    for at, (number, match) in enumerate(heads):
        depth = len(match[1])
        behind = (other for other, head in heads[at + 1 :] if len(head[1]) <= depth)
        last = next(behind, len(lines)) - 1
        while last > number and not lines[last].strip():
            last -= 1
        first_id = int(match[2])
        yield Section(number, last, depth, first_id, int(match[3] or first_id), match[4])


def _is_only_fenced(message: str) -> bool:
    fence, has_fence = "", False
    for line in message.split("\n"):
        match = _FENCE.match(line)
        if fence:
            is_end = match is not None and match[1].startswith(fence) and not line.strip().strip(fence[0])
            fence = "" if is_end else fence
        elif match is not None:
            fence, has_fence = match[1], True
        elif line.strip():
            return False
    return has_fence


def n_sent(document: Parsed, shown: Shown) -> int:
    """The length of the message at the beginning of the input that was sent: it equals, word for word, the message that
    follows the last one in the view. Such a document was saved before the message was removed from the input. Lines
    that were typed below it do not count."""
    last = max((each.last_id for each in document.sections if each.depth == 2), default=-1)
    following = next((each.content for each in shown.messages if each.id > last), None)
    if following is None or following.role is not Role.USER:
        return 0
    sent = _plain(following.text).lstrip("\n").rstrip()
    return len(sent) if _place_of(sent, document.message) == 0 else 0


def n_left(message: str, sent: str) -> int:
    """The length of `sent` when the input `message` still begins with it as whole lines, else 0."""
    return len(sent) if sent and _place_of(sent, message) == 0 else 0


def without_sent(message: str, sent: str) -> str:
    """The input `message` without the lines of `sent`, wherever they are: the user may have typed in front of them."""
    sent = sent.strip()
    at = _place_of(sent, message) if sent else -1
    return f"{message[:at]}{message[at + len(sent) :].removeprefix(chr(10))}".strip("\n") if at >= 0 else message


def _place_of(lines: str, message: str) -> int:
    """The offset of these whole lines in the message; -1 when it does not hold them."""
    return f"\n{message}\n".find(f"\n{lines}\n")


def whole(view: str, message: str) -> str:
    """The text of a document with a view and an input."""
    return f"{view}{BREAK}{MARKER}{BREAK}{message}" + ("" if message.endswith("\n") else "\n") * bool(message)


def rescued(text: str, view: str) -> str:
    """The lines of a document without an input line that are not of the view: the user may have written them. From a
    changed line of ours, only the part that was added."""
    known = {*view.split("\n"), HEAD, MARKER}
    found = (_without_ours(line) for line in text.split("\n") if line not in known)
    return "\n".join(line for line in found if line is not None)


def _without_ours(line: str) -> str | None:
    """The line without our text; None when nothing is left."""
    if not line.startswith("<!-- palimpsest-"):
        return line
    return min((change_between(ours, line).text.strip() for ours in (HEAD, MARKER)), key=len) or None


def edit_of_view(text: str, view: str) -> Change:
    """The smallest change that replaces the view of a document by `view`; an empty one when they are equal. Raises
    ValueError when the document has no input line."""
    parsed = parse(text)
    if parsed.marker_line is None:
        raise ValueError("the document has no input line")
    return change_between(text[: parsed.view_end], view)
