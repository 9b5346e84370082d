"""The replay of a recorded session through the real engine and a real store, with a check of every request."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from palimpsest.domain.context.cut import SummaryPiece, is_partition
from palimpsest.domain.context.events import ContextEventType
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.rules.rule_set import missing
from palimpsest.domain.context.tokens import count_content
from palimpsest.domain.conversation.chain import first_broken
from palimpsest.domain.conversation.exchanges import unanswered_calls
from palimpsest.domain.errors import InvalidRequest, PalimpsestError
from palimpsest.domain.messages import Content, ConversationId, Role
from palimpsest.machine import utc_now
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.page import Reader, context_page
from palimpsest.services.context.requests import Requests
from palimpsest.services.context.rules import read_rules
from palimpsest.services.context.state import ContextState
from palimpsest.services.context.writable import WritableContext
from palimpsest.services.conversation.recordings import Recording
from palimpsest.services.events import ContextEvent, RulesProgress
from palimpsest.services.maintenance.prices import NewestFirst, PricedRequests
from palimpsest.storage import leases
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.store import Store


@dataclass(frozen=True, slots=True)
class Break:
    """A request that did not begin with the one before it. Tokens are raw."""

    before: int
    """The id of the message that came next in the conversation."""
    cause: str
    """The cause of its cut."""
    kept_tokens: int
    total_tokens: int


@dataclass(slots=True)
class ReplayReport:
    """The result of the replay of one session."""

    session: str
    n_recorded: int
    n_mended: int
    n_messages: int = 0
    tokens: int = 0
    """The tokens of all original messages, by the model's mean estimate."""
    n_exchanges: int = 0
    n_requests: int = 0
    highest_use: float = 0.0
    """The fullest request's upper estimate as a share of its limit."""
    compactions: dict[str, int] = field(default_factory=dict)
    """By cause."""
    n_summaries: int = 0
    """Summaries in the last request."""
    prompt_tokens: int = 0
    """Raw tokens of all requests."""
    unchanged_tokens: int = 0
    """The prompt tokens that are in the unchanged prefix of the request before."""
    price: float = 0.0
    """The price of all requests, in full-price tokens (`services.maintenance.prices`)."""
    newest_first_price: float = 0.0
    """Their price with only the newest exchanges that fit the same limits."""
    breaks: list[Break] = field(default_factory=list)
    """Every request whose prefix broke by a compaction. A prefix that broke without one is a violation."""
    is_verified: bool = False
    """Whether every digest of the stored conversation is verified."""
    violations: list[str] = field(default_factory=list)
    """The violated invariants, each with its message; empty when all hold."""

    @property
    def prefix_share(self) -> float:
        return self.unchanged_tokens / self.prompt_tokens if self.prompt_tokens else 1.0

    @property
    def price_ratio(self) -> float:
        return self.price / self.newest_first_price if self.newest_first_price else 1.0


class Replayer:
    """Replays sessions one after another, each as a new conversation in `store`."""

    def __init__(self, store: Store, engine: ContextEngine) -> None:
        self._store, self._engine, self._requests = store, engine, Requests(engine)
        self._compactions: dict[str, int] = {}
        engine.emit = self._on_event

    def _on_event(self, event: ContextEvent | RulesProgress) -> None:
        if isinstance(event, ContextEvent) and event.type is ContextEventType.COMPACTION and event.cause is not None:
            self._compactions[event.cause] = self._compactions.get(event.cause, 0) + 1

    async def replay(self, path: Path, recording: Recording, model: str) -> ReplayReport:
        """Replay a session: prepare a context before every step of the model and check it. Raises only for broken
        input."""
        context, checker = await self._begin(path, recording, model)
        report, state = checker.report, context.state
        async for _ in self._played(context, checker, recording):
            pass
        self._engine.let_go(context.lease)
        await self._verify(state.id, recording, state, report)
        await self._store.run(leases.release, context.lease)
        return report

    async def page_before(self, path: Path, recording: Recording, model: str, message_id: int) -> str:
        """The context before a message of a session, as a page: what the model was sent, where the message is the
        model's. Raises InvalidRequest where the session has no such message."""
        context, checker = await self._begin(path, recording, model)
        async for step in self._played(context, checker, recording):
            if context.state.n_messages <= message_id < context.state.n_messages + len(step):
                return context_page(context.state, Reader())
        n_messages = context.state.n_messages
        raise InvalidRequest(f"{path.name} has no message {message_id}: its messages are 0 to {n_messages - 1}.")

    async def _begin(self, path: Path, recording: Recording, model: str) -> tuple[WritableContext, RequestChecker]:
        session = path.name.removesuffix(".xz").removesuffix(".jsonl")
        report = ReplayReport(session, recording.n_recorded, recording.n_mended)
        conversation_id = ConversationId(f"replay-{session}")
        await self._store.run(conversations.create, conversation_id, session, model, utc_now())
        lease = await self._store.run(leases.acquire, self._store.writer(utc_now()), conversation_id, "a replay")
        self._compactions = report.compactions
        context = await self._engine.hold(lease)
        return context, RequestChecker(context.state, report)

    async def _played(
        self, context: WritableContext, checker: RequestChecker, recording: Recording
    ) -> AsyncIterator[Sequence[Content]]:
        """Each step of the session, its request made and checked, before its messages are in the context."""
        is_first = True
        for step in recording.steps:
            if step[0].role is Role.USER:
                is_first = True
            else:
                await self._request(context, checker, is_first=is_first)
                is_first = False
            yield step
            tokens = [(await self._engine.push_message(context, content)).original_tokens for content in step]
            checker.said(step, tokens)
            checker.report.tokens += context.state.cut.estimator.part(sum(tokens))

    async def _request(self, context: WritableContext, checker: RequestChecker, *, is_first: bool) -> None:
        state = context.state
        limit = state.budget.budget if is_first else state.budget.wall
        version = state.cut.version
        try:
            prepared = await self._requests.prepare(context, limit)
        except PalimpsestError as error:
            checker.violation(f"no request could be built: {error}")
            return
        checker.check(prepared)
        if state.cut.version != version:
            kept = (await read_rules(self._engine, state)).kept
            for entry in missing(kept, state.pieces, state.front.text):
                checker.violation(f"the standing rule {entry.id} is not in the context")

    async def _verify(
        self, conversation_id: ConversationId, recording: Recording, state: ContextState, report: ReplayReport
    ) -> None:
        """Check that nothing is lost: every message is stored and chained, and a restart prepares the same context."""
        stored = await self._store.search(message_log.read, conversation_id, 0)
        said = [content for step in recording.steps for content in step]
        report.n_messages = len(stored)
        if [message.content for message in stored] != said:
            report.violations.append("the stored messages differ from the session")
        broken = first_broken(stored)
        report.is_verified = broken is None
        if broken is not None:
            report.violations.append(f"the digest of message {broken} does not verify")
        report.n_summaries = state.n_blocks
        pieces = state.pieces
        self._engine.forget(conversation_id)
        if (await self._engine.state(conversation_id)).pieces != pieces:
            report.violations.append("a restart would show another context")


@dataclass(slots=True)
class RequestChecker:
    """Checks each request against the invariants, with its own counts, and adds its price."""

    state: ContextState
    report: ReplayReport
    _requests: PricedRequests = field(default_factory=PricedRequests)
    _newest_first: NewestFirst = field(default_factory=NewestFirst)
    _previous_version: int = 0
    _sizes: dict[int, tuple[Content, int]] = field(default_factory=dict)
    """The counted contents by identity. Each is kept alive, so that its identity is not reused."""

    def _size(self, content: Content) -> int:
        known = self._sizes.get(id(content))
        if known is None:
            known = self._sizes[id(content)] = (content, count_content(content, self.state.tokenizer.count))
        return known[1]

    def said(self, exchange: Sequence[Content], sizes: Sequence[int]) -> None:
        """Note an appended exchange, with the raw tokens of each message."""
        self.report.n_exchanges += 1
        self._newest_first.append(exchange, sizes)

    def violation(self, text: str) -> None:
        self.report.violations.append(f"before message {self.state.n_messages}: {text}")

    def check(self, context: PreparedContext) -> None:
        report, state = self.report, self.state
        report.n_requests += 1
        sizes = [self._size(content) for content in context.messages]
        upper = state.cut.estimator.upper(state.frame_tokens.total + sum(sizes))
        report.highest_use = max(report.highest_use, upper / context.limit_tokens)
        if upper > context.limit_tokens:
            self.violation(f"{upper:,} tokens, over the limit of {context.limit_tokens:,}")
        if not pairs_are_whole(context.messages):
            self.violation("a tool call is separated from its result")
        if not is_partition(state.pieces, state.n_messages):
            self.violation("the cut does not cover every message once")
        if not self._holds_request(context):
            self.violation("the user's request is not verbatim in the context")
        self._measure_prefix(context, sizes)

    def _holds_request(self, context: PreparedContext) -> bool:
        """Whether the newest user message is in the context verbatim."""
        newest = next(
            (
                piece.message.content
                for piece in reversed(self.state.pieces)
                if not isinstance(piece, SummaryPiece) and piece.message.content.role is Role.USER
            ),
            None,
        )
        return newest is None or newest in context.messages

    def _measure_prefix(self, context: PreparedContext, sizes: list[int]) -> None:
        # Equal contents are equal bytes: canonical JSON is a function of the content.
        report, cut = self.report, self.state.cut
        head = (context.system, context.tools)
        head_sizes = (self.state.frame_tokens.system, self.state.frame_tokens.tools)
        prefix = self._requests.add((*head, *context.messages), (*head_sizes, *sizes))
        if prefix.is_broken and cut.version == self._previous_version:
            self.violation("the prefix broke without a compaction")
        elif prefix.is_broken:
            report.breaks.append(Break(self.state.n_messages, cut.cause.value, prefix.kept_tokens, prefix.total_tokens))
        self._previous_version = cut.version
        self._newest_first.request(head, head_sizes, cut.estimator.raw_within(context.limit_tokens))
        report.prompt_tokens, report.unchanged_tokens = self._requests.prompt_tokens, self._requests.unchanged_tokens
        report.price, report.newest_first_price = self._requests.price, self._newest_first.requests.price


def pairs_are_whole(messages: tuple[Content, ...]) -> bool:
    """Whether every call has its result, and every result its call before it."""
    called: set[str] = set()
    for message in messages:
        called.update(call.call_id for call in message.calls)
        if any(result.call_id not in called for result in message.results):
            return False
    return not unanswered_calls(messages)
