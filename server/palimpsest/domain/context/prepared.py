"""The prepared context: the proof that a request fits.

`PreparedContext` is the only thing a provider accepts. Its constructor checks the proof, so holding one
means: by the upper estimate, the request fits the limit it carries.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple, Self

from palimpsest.domain.context.apportionment import apportion
from palimpsest.domain.errors import ErrorDetail, ErrorKind, PalimpsestError
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, canonical_json
from palimpsest.domain.tools import ToolSchema

ToolChoice = Literal["auto", "none"]
SegmentType = Literal["system", "tools", "pins", "summary", "message", "preview", "injection", "overhead"]
_LASTING: Final = frozenset({"system", "tools", "pins", "summary"})


class OverLimit(PalimpsestError):
    """A request would not fit its limit. Nothing was sent."""

    kind = ErrorKind.CONTEXT_TOO_LONG


class Segment(NamedTuple):
    """One stretch of the request, in request order, and why it is there. A tuple, because a request has some hundred
    and they are made anew for each."""

    type: SegmentType
    """`overhead` is what the model's service adds to every request by itself."""
    tokens: int
    """Its part of the mean estimate of the whole request, in the model's tokens: the parts add up to the whole."""
    reason: str
    contents: tuple[Content, ...]
    """What it adds to the request's messages; empty for `system`, `tools`, `injection` and `overhead`."""
    message_ids: tuple[MessageId, MessageId] | None = None
    """[first, end) of the messages it stands for."""
    summary_id: int | None = None
    is_in_prefix: bool = False
    """Whether it stands unchanged in the previous request of this conversation."""


@dataclass(frozen=True, slots=True)
class PreparedContext:
    """A request that fits. Messages may repeat a role; a client merges where its provider demands alternation."""

    conversation_id: ConversationId
    """For what a provider keys by conversation, such as its prompt cache."""
    model: str
    system: str
    tools: tuple[ToolSchema, ...]
    """Sorted by name."""
    segments: tuple[Segment, ...]
    max_output_tokens: int
    """The reserve: what the answer may take."""
    estimated_tokens: int
    """Mean estimate of the whole request, in the model's tokens: the sum of its segments."""
    upper_tokens: int
    """Upper estimate (mean + 2 sigma); at most `limit_tokens`."""
    limit_tokens: int
    window_tokens: int = 0
    """The model's window, request and answer together, for a service that loads a model with the window it is told. 0:
    the limit and the reserve."""
    n_stable_messages: int = 0
    """How many leading messages will not change before the next compaction: where a cache marker belongs."""
    tool_choice: ToolChoice = "auto"
    pictures: Mapping[Digest, str] = field(default_factory=dict, compare=False, repr=False)
    """The bytes of pictures that are sent, in base64, by their digests. Of any other picture the model gets its line:
    it sees none, or the bytes are not here."""

    def __post_init__(self) -> None:
        if self.upper_tokens > self.limit_tokens:
            raise OverLimit(
                f"The request needs up to {self.upper_tokens:,} tokens, but its limit is {self.limit_tokens:,}.",
                ErrorDetail(model=self.model, limit_tokens=self.limit_tokens, projected_tokens=self.upper_tokens),
            )

    @property
    def messages(self) -> tuple[Content, ...]:
        """The request's messages, oldest first."""
        return tuple(content for segment in self.segments for content in segment.contents)

    @property
    def n_lasting_messages(self) -> int:
        """How many leading messages most compactions leave as they are, since they write behind them: what was ruled by
        command, and summaries."""
        lasting = itertools.takewhile(lambda segment: segment.type in _LASTING, self.segments)
        return sum(len(segment.contents) for segment in lasting)

    def counted_as(self, tokens: int, limit_tokens: int) -> Self:
        """The same request where its service says that it takes so many tokens. Raises OverLimit."""
        sizes = apportion(tokens, [segment.tokens for segment in self.segments])
        segments = tuple(each._replace(tokens=size) for each, size in zip(self.segments, sizes, strict=True))
        return replace(self, segments=segments, estimated_tokens=tokens, upper_tokens=tokens, limit_tokens=limit_tokens)

    def lines(self) -> tuple[str, ...]:
        """The request as canonical lines, stable first. Requests share a prefix as far as their lines do."""
        tools = [tool.to_json() for tool in self.tools]
        head = (canonical_json({"system": self.system}), canonical_json({"tools": tools}))
        return head + tuple(canonical_json(content.to_json()) for content in self.messages)

    def digest(self) -> Digest:
        """SHA-256 of the lines, each with a line feed behind it. Takes some 10 ms for a megabyte."""
        digest = hashlib.sha256()
        for line in self.lines():
            digest.update(f"{line}\n".encode())
        return Digest(digest.hexdigest())
