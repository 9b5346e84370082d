"""Entries: what one message said, did and named, read once.

A message of the assistant has a head: what it called, and on what. The result of a call has an entry of its own, which
knows the message of the call. Deterministic; reading takes time in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain.context.notebook.calls import clip, head_of, options_of, purpose_of, values_of, without_folder
from palimpsest.domain.context.notebook.evidence import (
    ANNOUNCED,
    RULE,
    TROUBLE,
    arguments_of,
    bounded_lines,
    by_sentence,
    has_failed,
    outcome_in,
    prose_and_code,
    says_something,
    sentences_of,
    squeeze,
    tool_label,
    tries_of,
)
from palimpsest.domain.context.notebook.fragments import DECLARES, Found, Fragment, Kind, best_of, pieces_of
from palimpsest.domain.context.notebook.names import NAME, READ_CHARS, WORD, n_words, names_in
from palimpsest.domain.context.tokens import CountText
from palimpsest.domain.language.pastes import Paste, split_pastes
from palimpsest.domain.language.typed_text import typed_pieces
from palimpsest.domain.messages import AttachmentPart, Content, ImagePart, MessageId, Role, ToolResultPart
from palimpsest.domain.offline_texts import without_fixed_texts

SAID, OPEN, DONE = "Said by the user", "Open at the end", "Done"
DETAILS, NAMED = "Lines and names, by message", "Also named"
"""The headings of a page, in its order."""
USER_WROTE: Final = "the user wrote"
"""The head of a line that tells a message of the user."""
WHOLE_CHARS: Final = 400
"""A message of the user up to this length, apart from what is pasted in it, is told whole or not at all."""

_PROSE_CHARS: Final = 8_000
_FAILURE_CHARS, _OUTCOME_CHARS = 200, 160
_MOST_CALLS: Final = 6
"""Of one message: more are not told apart."""
_SHORT_RESULT: Final = 3
"""Lines: the last one of a longer result that is no command's is a line of a file, or a row."""
_FEWEST_WORDS: Final = 2
WORDS_OF_HEAD, _PURPOSE_CHARS = 3, 70
"""Words beside names that a head has which says enough alone."""
_ABOUT_TO: Final = re.compile(
    r"(?:(?:ok(?:ay)?|good|great|perfect|now|next|first|then|alright|excellent)\b[\s,.!:]*)*"
    r"(?:let me|let's|i'll|i will|i'm going to|i need to|i should)\s+(?:now |also |first |then )?",
    re.I,
)

_TROUBLE_WEIGHT, _OUTCOME_WEIGHT, _SHORT_OUTCOME_WEIGHT = 2.5, 1.5, 0.45
_SENTENCE_WEIGHT, _ANNOUNCED_WEIGHT, _DECLARATION_WEIGHT = 0.6, 0.15, 0.3
_PASTED_WEIGHT: Final = 0.9
_MOST_SENTENCES: Final = 40
"""Of one message of the user: of one with more, these from each end, and as many questions."""
_FROM_EACH_END: Final = 15
_FRAME_TOKENS: Final = 7
"""Of a line: its id and what separates its parts."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the user, or the mention of what the user pasted."""

    text: str
    weight: float
    """Larger is kept longer."""
    is_pasted: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """What one message leaves in the notebook."""

    id: MessageId
    role: Role
    names: tuple[str, ...]
    """The keys of all names in the message."""
    fragments: tuple[Fragment, ...] = ()
    said: tuple[Sentence, ...] = ()
    """Of a message of the user."""
    head: str = ""
    """The calls of a message of the assistant, such as `Read lib/a.py`; empty where it calls nothing."""
    purpose: str = ""
    """Words of the message that say what a head is for which says little itself, such as a file that was read."""
    head_words: int = 0
    """Of the head, beside its names."""
    head_names: tuple[str, ...] = ()
    head_tokens: int = _FRAME_TOKENS
    """Raw, with the frame of its line."""
    path: str = ""
    """The file that its first call with a path is about, or the call that it answers."""
    answers: MessageId | None = None
    """Of the result of a call: the message that made the call."""
    tried: frozenset[str] = frozenset()
    """Of the result of a call that tried something: what is tried again where the same is done."""
    has_failed: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether its words are told whole or not at all."""
        return sum(len(each.text) for each in self.said if not each.is_pasted) <= WHOLE_CHARS


@dataclass(frozen=True, slots=True)
class _Call:
    message_id: MessageId
    path: str
    is_command: bool
    tried: frozenset[str]


def _pictures(id: MessageId, content: Content) -> list[str]:
    """A line for each picture of the message, which says how it is found."""
    return [image.line(f"{id}:{number}") for number, image in enumerate(content.images, start=1)]


@dataclass(slots=True)
class Reader:
    """Reads the messages of one conversation, in their order."""

    count: CountText
    _calls: dict[str, _Call] = field(default_factory=dict)
    """The calls that were read and not answered yet, by the id that their results name."""
    _keys: dict[str, str] = field(default_factory=dict)
    """Each key once: the same few thousand occur in every entry."""

    def read(self, id: MessageId, content: Content) -> tuple[Entry, dict[str, str]]:
        """The entry of a message, and its names by their keys; each message is read once."""
        match content.role:
            case Role.USER:
                return self._user(id, content)
            case Role.ASSISTANT:
                return self._assistant(id, content)
            case Role.TOOL:
                return self._results(id, content)

    def _user(self, id: MessageId, content: Content) -> tuple[Entry, dict[str, str]]:
        text = content.text
        parts = split_pastes(_both_ends(text))
        said = _said_in(parts, len(text))
        found = names_in(text)
        entry_said = Entry(id, Role.USER, (), said=said)
        rest = "\n".join(each.text for each in parts if isinstance(each, Paste)) if entry_said.is_whole else text
        lines = self._lines(best_of(pieces_of(by_sentence(rest))))
        shown = [Sentence(line, _PASTED_WEIGHT, is_pasted=True) for line in _pictures(id, content)]
        entry_said = replace(entry_said, said=(*said, *shown))
        for part in content.parts:
            if isinstance(part, ImagePart):
                found.update(names_in(part.label))
            if isinstance(part, AttachmentPart):
                found.update(names_in(f"{part.label}\n{part.text}"))
                lines += self._lines(best_of(pieces_of(part.text)))
        return replace(entry_said, names=self._known(found), fragments=tuple(lines)), found

    def _assistant(self, id: MessageId, content: Content) -> tuple[Entry, dict[str, str]]:
        text = without_fixed_texts(content.text)
        found = dict[str, str]()
        fragments: list[Fragment] = []
        calls = [head_of(call) for call in content.calls[:_MOST_CALLS]]
        for call, (_, path, is_command) in zip(content.calls, calls, strict=False):
            self._calls[call.call_id] = _Call(id, path, is_command, tries_of(call))
        head = "; ".join(each for each, _, _ in calls)
        in_head = names_in(head)
        for call in content.calls[:_MOST_CALLS]:
            if in_options := names_in(options := options_of(call)):
                found.update(in_options)
                label = f"{tool_label(call.name)} " if len(calls) > 1 else ""
                fragments.append(self._fragment(f"{label}with {options}", in_options, 0.0, Kind.CALLED))
            told = {*in_head, *in_options}
            is_quoted = bool(arguments_of(call))
            for value in values_of(call):
                found.update(names_in(value))
                pieces = pieces_of(without_folder(value))
                fragments += self._lines(
                    best_of([each for each in pieces if each.text[:60] not in head and each.names.keys() - told]),
                    is_quoted=is_quoted,
                )
        prose, code = prose_and_code(text[:_PROSE_CHARS])
        found.update(names_in(text[:READ_CHARS]))
        sentences = sentences_of(prose)
        for index, sentence in enumerate(sentences):
            if not says_something(sentence):
                continue
            weight = _ANNOUNCED_WEIGHT if ANNOUNCED.match(sentence) else 1.0
            weight *= _SENTENCE_WEIGHT * (1.0 if index in (0, len(sentences) - 1) else 0.5)
            weight *= 1.0 if len(WORD.findall(sentence)) > 3 and not sentence.endswith(":") else 0.2
            fragments.append(self._fragment(sentence, names_in(sentence), weight, Kind.SAID))
        fragments += self._lines(best_of(pieces_of("\n".join(code))))
        path = next((each for _, each, _ in calls if each), "")
        head_words = n_words(head)
        purpose = ""
        if head and head_words < WORDS_OF_HEAD:
            purpose = _purpose([*sentences, *(purpose_of(call) for call in content.calls[:1])])
        found.update(in_head)
        entry = Entry(
            id,
            Role.ASSISTANT,
            self._known(found),
            tuple(fragments),
            head=head,
            purpose=purpose,
            head_words=head_words,
            head_names=self._known(in_head),
            head_tokens=self.count(head) + _FRAME_TOKENS,
            path=path,
        )
        return entry, found

    def _results(self, id: MessageId, content: Content) -> tuple[Entry, dict[str, str]]:
        results = content.results
        found = dict[str, str]()
        fragments: list[Fragment] = []
        calls = [call for result in results if (call := self._calls.pop(result.call_id, None)) is not None]
        for result in results:
            found.update(names_in(result.text))
            is_command = any(call.is_command for call in calls)
            if (outcome := self._outcome(result, is_command=is_command)) is not None:
                fragments.append(outcome)
            fragments += self._lines(best_of(pieces_of(result.text)))
        for line in _pictures(id, content):
            fragments.append(self._fragment(line, names_in(line), _OUTCOME_WEIGHT, Kind.OUTCOME))
        answers, path = (calls[0].message_id, calls[0].path) if calls else (None, "")
        head = "" if calls else ", ".join(tool_label(result.name) for result in results)
        entry = Entry(
            id,
            Role.TOOL,
            self._known(found),
            tuple(fragments),
            head=head,
            head_words=n_words(head),
            head_tokens=self.count(head) + _FRAME_TOKENS,
            path=path,
            answers=answers,
            tried=frozenset[str]().union(*(call.tried for call in calls)),
            has_failed=any(each.kind is Kind.OUTCOME and each.weight == _TROUBLE_WEIGHT for each in fragments),
        )
        return entry, found

    def _outcome(self, result: ToolResultPart, *, is_command: bool) -> Fragment | None:
        """How a call came out, where the result says it."""
        lines = bounded_lines(result.text)
        # A file that was read may speak of errors without one having happened.
        reads_trouble = not is_command and bool(lines) and TROUBLE.search(lines[0]) is not None
        outcome = squeeze(lines[0]) if reads_trouble else outcome_in(lines, is_command=is_command)
        if result.is_error or has_failed(lines, is_command=is_command):
            weight, text = _TROUBLE_WEIGHT, f"failed: {clip(outcome, _FAILURE_CHARS)}"
        elif (is_command or len(lines) <= _SHORT_RESULT) and len(WORD.findall(outcome)) >= _FEWEST_WORDS:
            weight = _OUTCOME_WEIGHT if len(lines) > 1 else _SHORT_OUTCOME_WEIGHT
            text = clip(outcome, _OUTCOME_CHARS)
            if NAME.search(text) is None and len(WORD.findall(text)) <= _FEWEST_WORDS:
                return None  # the prompt of a terminal, or `done`
        else:
            return None
        return self._fragment(text, names_in(outcome), weight, Kind.OUTCOME)

    def _lines(self, found: Sequence[Found], *, is_quoted: bool = False) -> list[Fragment]:
        return [
            self._fragment(
                text,
                within,
                _DECLARATION_WEIGHT if DECLARES.search(text) else 0.0,
                Kind.LINE,
                lead if is_quoted else "",
            )
            for text, within, lead in found
        ]

    def _fragment(self, text: str, found: Mapping[str, str], weight: float, kind: Kind, lead: str = "") -> Fragment:
        size = self.count(lead + text) + (0 if lead else 2)
        return Fragment(text, self._known(found), size, weight, kind, n_words(text), lead)

    def _known(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._keys.setdefault(name, name) for name in names)


def _both_ends(text: str) -> str:
    """The text, or of a very long one both ends."""
    if len(text) <= _PROSE_CHARS:
        return text
    return f"{text[: _PROSE_CHARS // 2]}\n\n{text[-_PROSE_CHARS // 2 :]}"


def _said_in(parts: Sequence[str | Paste], n_chars: int) -> tuple[Sentence, ...]:
    """The sentences of the user, with a mention of each paste in its place."""
    pieces: list[tuple[str, bool]] = []
    for part in parts:
        if isinstance(part, Paste):
            pieces.append((str(part), True))
        else:
            pieces += [(squeeze(each, WHOLE_CHARS), False) for each in typed_pieces(part)]
    # A long message is kept by its beginning and its end: what people ask stands there.
    own = [index for index, (_, is_pasted) in enumerate(pieces) if not is_pasted]
    if len(own) > _MOST_SENTENCES:
        asked = [index for index in own if pieces[index][0].endswith("?")]
        own = sorted({*own[:_FROM_EACH_END], *own[-_FROM_EACH_END:], *asked[:_FROM_EACH_END]})
    is_long = len(own) > 8 or n_chars > 1_500
    said: list[Sentence] = []
    for index, (text, is_pasted) in enumerate(pieces):
        if is_pasted:
            said.append(Sentence(text, _PASTED_WEIGHT, is_pasted=True))
        elif index in own:
            asks = RULE.search(text) is not None or text.endswith("?")
            at_end = index in (*own[:2], own[-1])
            weight = (1.4 if is_long and index != own[0] else 2.0) * (
                1.0 if asks else 0.5 if not is_long or at_end else 0.25
            )
            weight += 1.0 if index == own[0] else 0.5 if index == own[-1] else 0.0
            said.append(Sentence(text, weight))
    return tuple(said)


def _purpose(sentences: Sequence[str]) -> str:
    """The beginning of the first sentence that says something, in words."""
    for sentence in sentences:
        plain = _ABOUT_TO.sub("", sentence, count=1).strip().rstrip(".:;!…")
        if n_words(plain) >= WORDS_OF_HEAD:
            return plain if len(plain) <= _PURPOSE_CHARS else f"{plain[:_PURPOSE_CHARS].rpartition(' ')[0]}…"
    return ""
