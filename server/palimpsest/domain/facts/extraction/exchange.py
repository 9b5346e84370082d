"""An exchange from which facts are taken: its messages, the tool calls in them, and the origin of a quote.

The origin decides what may rest on a quote, so that nothing a file or a tool says becomes a rule: text that a user did
not type, and an assistant's repetition of a tool's words, count as the tool's.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, assert_never

from palimpsest.domain import foreign_json
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.facts.fact import Evidence, Origin
from palimpsest.domain.language.typed_text import sentences
from palimpsest.domain.messages import (
    AttachmentPart,
    ConversationId,
    ImagePart,
    MessageId,
    OpaquePart,
    ReasoningPart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

_READ_CHARS: Final = 20_000
"""The characters of one tool result that are compared with an assistant's words."""
_PARAPHRASED: Final = 0.75
"""The share of a sentence's words that makes it the tools' when they have said them."""
_TELLING_WORD = re.compile(r"[^\W_]{3,}")
_AGREED = re.compile(
    r"\W*(?:(?:ok(?:ay)?|alright|great|perfect|nice|cool|sure|fine|excellent)\b[\s,.!:-]*)*"
    r"(?:(?:yes|yep|yeah|yup|agreed?|exactly|sounds (?:good|great|right)|lgtm|go (?:ahead|for it)|do (?:it|that|so)"
    r"|please do|let's (?:do|go with) (?:it|that|this)|i (?:fully |completely )?(?:agree|like (?:it|that|this))"
    r"|works for me|makes sense|good (?:idea|plan|call)|that's (?:right|fine|good)|approved|ship it)\b"
    r"|(?<=\w)\W*$)",
    re.I,
)
_TAKEN_BACK = re.compile(r"\b(?:but|except|however|wait|actually|instead|no,|don't|not)\b|\?", re.I)
_SHORT_ANSWER: Final = 300
"""Characters. A longer answer says something of its own."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call and its result."""

    message_id: MessageId
    call: ToolCallPart
    result: ToolResultPart | None
    """None when it is not in the exchange."""

    @property
    def arguments(self) -> Mapping[str, object]:
        """The arguments; empty when the model wrote no JSON object."""
        return foreign_json.object_in(self.call.arguments) or {}

    @property
    def has_succeeded(self) -> bool:
        return self.result is not None and not self.result.is_error


@dataclass(frozen=True, slots=True)
class Exchange:
    """A finished step or turn. Its messages are of one conversation, oldest first."""

    messages: tuple[StoredMessage, ...]
    turn_number: int
    before: tuple[StoredMessage, ...]
    """Messages before the exchange, the oldest first. They hold proposals that the user agrees to, and words of tools;
    no facts are taken from them."""
    folder: str
    """The absolute path of the workspace folder, with `/`, which absolute paths are compared with; empty: unknown."""

    @classmethod
    def of(
        cls,
        messages: Sequence[StoredMessage],
        *,
        turn_number: int = 0,
        before: Sequence[StoredMessage] = (),
        folder: str = "",
    ) -> Exchange:
        """Raises ValueError for no messages, and for messages of several conversations."""
        if len({message.conversation_id for message in messages}) != 1:
            raise ValueError("An exchange is made of messages of one conversation.")
        return cls(tuple(messages), turn_number, tuple(before), folder.rstrip("/"))

    @property
    def conversation_id(self) -> ConversationId:
        return self.messages[0].conversation_id

    def of_role(self, role: Role) -> Iterator[StoredMessage]:
        return (message for message in self.messages if message.content.role is role)

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The calls of the exchange, in order."""
        results = {result.call_id: result for message in self.messages for result in message.content.results}
        return tuple(
            ToolUse(message.id, call, results.get(call.call_id))
            for message in self.messages
            for call in message.content.calls
        )

    @property
    def agreed(self) -> StoredMessage | None:
        """The assistant's earlier message that the user agrees to at the beginning of the exchange; None when there is
        none."""
        if self.messages[0].content.role is not Role.USER or not is_agreement(self.messages[0].content.text):
            return None
        said = (message for message in reversed(self.before) if message.content.role is Role.ASSISTANT)
        return next((message for message in said if message.content.text.strip()), None)

    def evidence(self, message: StoredMessage, quote: str) -> Evidence:
        """The quote as evidence. The caller knows that it is in the message."""
        return Evidence(message.conversation_id, message.id, quote, self.origin(message, quote))

    def origin(self, message: StoredMessage, quote: str) -> Origin:
        """The speaker of a quote; a tool when in doubt."""
        match message.content.role:
            case Role.USER:
                return Origin.USER if _is_typed(message, quote) else Origin.TOOL
            case Role.ASSISTANT:
                return Origin.TOOL if self._is_paraphrase(message, quote) else Origin.ASSISTANT
            case Role.TOOL:
                return Origin.TOOL
            case _:
                assert_never(message.content.role)

    def _is_paraphrase(self, message: StoredMessage, quote: str) -> bool:
        """Whether an assistant's words are mostly those of tool results that came before them."""
        if any(quote in call.arguments for call in message.content.calls):
            return False  # it is what the assistant did
        words = _telling_words(quote)
        heard: set[str] = set()
        for earlier in (*self.before, *self.messages):
            if earlier.id >= message.id:
                break
            for result in earlier.content.results:
                heard |= words & _telling_words(result.text[:_READ_CHARS])
        return bool(words) and len(heard) >= _PARAPHRASED * len(words)


@functools.lru_cache(maxsize=512)
def _telling_words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _TELLING_WORD.findall(text))


def _is_typed(message: StoredMessage, quote: str) -> bool:
    """Whether the user typed the quote, which may span a few sentences: it is no code, quotation, transcript or
    attachment."""
    for part in message.content.parts:
        if not isinstance(part, TextPart):
            continue
        spans = list(sentences(part.text))
        at = part.text.find(quote)
        while quote and at >= 0:
            end = at + len(quote)
            inside = sum(max(0, min(end, last) - max(at, first)) for first, last in spans)
            # Only spaces and bullets are between sentences.
            if inside >= 0.9 * len(quote):
                return True
            at = part.text.find(quote, at + 1)
    return False


def is_agreement(text: str) -> bool:
    """Whether a user's message says yes, and nothing that takes it back."""
    plain = text.replace("\u2019", "'").strip()
    return 0 < len(plain) <= _SHORT_ANSWER and bool(_AGREED.match(plain)) and not _TAKEN_BACK.search(plain)


def texts_of(message: StoredMessage) -> Iterator[str]:
    """The texts of a message that may be quoted. Reasoning is addressed to nobody."""
    for part in message.content.parts:
        match part:
            case TextPart():
                yield part.text
            case ToolCallPart():
                yield part.arguments
            case ToolResultPart():
                yield part.text
            case AttachmentPart():
                yield part.text
            case ReasoningPart() | ImagePart() | OpaquePart():
                pass
            case _:
                assert_never(part)
