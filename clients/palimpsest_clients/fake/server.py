"""The fake that speaks every format at one address: the address and the headers of a request tell the format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from palimpsest_clients.fake.answers import answer_to
from palimpsest_clients.fake.anthropic import Anthropic
from palimpsest_clients.fake.chat import Chat
from palimpsest_clients.fake.dialect import Dialect, refuse
from palimpsest_clients.fake.gemini import Gemini
from palimpsest_clients.fake.ollama import Ollama, window_of
from palimpsest_clients.fake.replies import Heard, Reply, Usage, rough_count
from palimpsest_clients.fake.responses import Responses
from palimpsest_clients.fake.service import Asked, FakeService, Refusal, Sent, as_json

DIALECTS: Final[tuple[Dialect, ...]] = (Anthropic(), Responses(), Gemini(), Ollama(), Chat())
NAMES: Final = tuple(dialect.name for dialect in DIALECTS)


@dataclass(frozen=True)
class Failure:
    """A failure instead of an answer. A status other than 200 is all that is sent; otherwise `after` events of an
    answer are sent, and then it ends as `then` says."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "scripted failure"
    code: str | None = None
    then: Literal["drop", "stall", "error"] = "drop"
    after: int = 0


class FakeModels(FakeService):
    """A service that answers each request from `replies`, and when they are used up by its own words (`answers`)."""

    def __init__(
        self,
        dialects: Sequence[Dialect] = DIALECTS,
        *,
        port: int = 0,
        limit_tokens: int = 200_000,
        count: Callable[[Any], int] = rough_count,
        think: Callable[[Heard, int], Reply] = answer_to,
        chunk_bytes: int | None = None,
        pause_s: float = 0.0,
    ) -> None:
        """`count` gives the tokens of a body, `think` the answer to the nth request. `chunk_bytes` cuts streams into
        chunks of this size, also through the middle of characters; `pause_s` is the pause before each chunk."""
        super().__init__(port)
        self.dialects = dialects
        self.limit_tokens = limit_tokens
        self.replies: list[Reply | Failure] = []
        self.counts: list[int] = []
        """The tokens of each request for an answer that broke no rule, including those refused for their length, in
        order."""
        self.charged: list[Usage] = []
        """What each whole answer took, in order."""
        self._count = count
        self._think = think
        self._chunk_bytes = chunk_bytes
        self._pause_s = pause_s
        self._n_answers = 0

    def check(self, asked: Asked) -> None:
        dialect = self._dialect(asked)
        if not dialect.has_key(asked.headers):
            error = dialect.error(401, "There is no API key where this service wants it.", "invalid_api_key")
            raise Refusal(dialect.status_without_key, error)
        if not dialect.is_streamed(asked) and asked.method == "GET":
            return
        try:
            dialect.check(asked)
            streams = asked.body.get("stream", dialect.streams_unasked)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            refuse(dialect, f"The request does not have the expected shape ({type(error).__name__}).")
        if dialect.is_streamed(asked) and not streams:
            refuse(dialect, "The fake only streams: ask with stream set to true.")

    def answer(self, asked: Asked) -> Sent:
        dialect = self._dialect(asked)
        n_tokens = 0 if asked.body is None else self._count(asked.body)
        if not dialect.is_streamed(asked):
            told = dialect.told(asked, n_tokens, self.limit_tokens)
            return as_json(dialect.error(404, "not found"), 404) if told is None else as_json(told)
        step = self.replies.pop(0) if self.replies else None
        if isinstance(step, Failure) and step.status != 200:
            return as_json(dialect.error(step.status, step.message, step.code), step.status, step.headers)
        self.counts.append(n_tokens)
        n_seen = self._seen(dialect, asked.body, n_tokens)
        self._n_answers += 1
        reply = step if isinstance(step, Reply) else self._think(dialect.heard(asked.body), self._n_answers)
        usage = Usage(n_seen, max(1, rough_count(reply.text)))
        events = list(dialect.events(asked.body, usage, reply))
        sent = Sent(tuple(self._chunks(events)), dialect.content_type, pause_s=self._pause_s)
        if isinstance(step, Failure):
            return self._cut_short(sent, events, dialect, step)
        self.charged.append(usage)
        return sent

    def _dialect(self, asked: Asked) -> Dialect:
        found = next((dialect for dialect in self.dialects if dialect.speaks(asked)), None)
        if found is None:
            raise Refusal(404, {"error": {"message": f"The fake has nothing at {asked.path}."}})
        return found

    def _seen(self, dialect: Dialect, body: Any, n_tokens: int) -> int:
        """The tokens of the request that the model reads. Raises Refusal when the request is too long."""
        limit = self.limit_tokens
        if dialect.name == "ollama":
            limit = min(limit, window_of(body))
            if n_tokens > limit and body.get("truncate") is not False:
                return limit
        if n_tokens > limit:
            raise Refusal(400, dialect.too_long(n_tokens, limit))
        return n_tokens

    def _cut_short(self, sent: Sent, events: list[bytes], dialect: Dialect, failure: Failure) -> Sent:
        kept = events[: failure.after]
        if failure.then == "error":
            return replace(sent, chunks=tuple(self._chunks([*kept, dialect.stream_error()])))
        return replace(sent, chunks=tuple(self._chunks(kept)), then=failure.then)

    def _chunks(self, events: list[bytes]) -> list[bytes]:
        if self._chunk_bytes is None:
            return events
        data, size = b"".join(events), self._chunk_bytes
        return [data[start : start + size] for start in range(0, len(data), size)]
