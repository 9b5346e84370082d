"""Past requests: what a model was sent at a step, made again of the store and compared with the digest of that time."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from palimpsest.domain.context.cut import Piece, image_tokens, total_tokens
from palimpsest.domain.context.measured import Estimate, whole_estimate
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.request_layout import Frame, FrameTokens, Front, lay_out, segments_of
from palimpsest.domain.context.sent_request import ChangedEntry, MessagesEntry, Outline, SentRequest, SummaryEntry
from palimpsest.domain.context.tokens import Certainty, count_content
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.domain.messages import ConversationId, Digest, MessageId, TurnId
from palimpsest.domain.models.limits import Model
from palimpsest.domain.models.redaction import redact_context
from palimpsest.domain.turns.recovery import GO_ON, with_go_on
from palimpsest.services.context.engine import ContextEngine
from palimpsest.services.context.reports import certainty_of
from palimpsest.services.context.state import block, front, live
from palimpsest.services.models.catalog import Models
from palimpsest.services.models.tokenizers import Tokenizer
from palimpsest.storage.context.injections import Injected, joined
from palimpsest.storage.conversation import conversations, message_log
from palimpsest.storage.turns import sent_requests, turn_records
from palimpsest.storage.turns.sent_requests import StepRecord, Words
from palimpsest.wording import counted

_UNCOUNTED: Final = Tokenizer("none", lambda _: 1)
"""For requests of which only the words matter."""


@dataclass(frozen=True, slots=True)
class PastRequest:
    """A request that was sent, as it was sent."""

    step: StepRecord
    n_steps: int
    """The number of steps that its turn has so far."""
    context: PreparedContext
    """Its segments are counted as they would be today; the tokens of the whole are those of that time."""
    certainty: Certainty
    digest: Digest
    """The digest of the request that was sent."""
    is_same: bool
    """Whether `context` has that digest."""


@dataclass(slots=True)
class RequestsCheck:
    """The result of making all requests of a conversation again."""

    n_equal: int = 0
    n_unknown: int = 0
    """Requests of versions that did not store them."""
    gone: list[tuple[StepRecord, str]] = field(default_factory=list)
    """The steps whose requests held words that were purged or forgotten since, each with a clause that says which."""
    differing: list[StepRecord] = field(default_factory=list)
    """The steps whose requests came out otherwise than they were sent."""

    @property
    def n_requests(self) -> int:
        return self.n_equal + self.n_unknown + len(self.gone) + len(self.differing)


class _Gone(Exception):
    """Words of the request are not stored any more; the message is a clause that says which."""


def describe(context: PreparedContext, outline: Outline, cut_version: int, *, is_redacted: bool) -> SentRequest:
    """What is stored of a request. `is_redacted`: whether secrets are taken out before the model's client gets it."""
    pieces = [each for each in context.segments if each.type in ("summary", "message", "preview")]
    return SentRequest(
        Frame(context.system, context.tools),
        cut_version,
        outline,
        sum(each.is_in_prefix for each in pieces),
        is_redacted,
        context.tool_choice,
        context.upper_tokens,
        context.limit_tokens,
        context.max_output_tokens,
        context.window_tokens,
        _handed_over(context, is_redacted=is_redacted).digest(),
    )


async def past_request(
    engine: ContextEngine, conversation_id: ConversationId, turn_id: TurnId, number: int | None
) -> PastRequest:
    """The request of a step of the turn; without a number, of its last one. In a fork the turn may be the parent's.

    Raises NotFound for an unknown turn or step, and InvalidRequest for a request that cannot be shown any more.
    """

    def read_step() -> tuple[ConversationId, StepRecord, int]:
        owner = _owner_of(conversation_id, turn_id)
        steps = sent_requests.steps_of(turn_id)
        return owner, _chosen(steps, number), len(steps)

    owner, step, n_steps = await engine.store.read(read_step)
    if (request := step.request) is None:
        raise InvalidRequest(
            "This request was sent by an earlier version of Palimpsest, which did not store how to show it again. "
            "Requests that were sent since can be shown."
        )
    model = engine.models.assume(step.model)
    tokenizer = await engine.tokenizer_of(model)

    def read_words() -> tuple[Words, dict[MessageId, int]]:
        words = sent_requests.read_words(owner, [request])
        return words, message_log.read_counts(owner, tokenizer.name, min(words.messages, default=0))

    words, counts = await engine.store.search(read_words)
    try:
        context = await asyncio.to_thread(_made_again, owner, step, request, words, model, tokenizer, counts)
    except _Gone as gone:
        raise InvalidRequest(
            f"This request cannot be shown any more: {gone}. What is left can be read in the conversation."
        ) from None
    is_same = await asyncio.to_thread(context.digest) == request.digest
    return PastRequest(step, n_steps, context, certainty_of(model, tokenizer), request.digest, is_same)


async def request_about(engine: ContextEngine, conversation_id: ConversationId, message_id: MessageId) -> PastRequest:
    """The request that this message came of; of what the user said, the first that held it. Raises NotFound for an
    unknown message or one without a request, and InvalidRequest for a request that cannot be shown any more."""

    def find() -> tuple[TurnId, int | None] | None:
        owner = conversations.owner_of(conversation_id, message_id)
        if (place := sent_requests.place_of(owner, message_id)) is None or place[1] is not None:
            return place
        return place[0], next((step.number for step in sent_requests.steps_of(place[0])), None)

    if (place := await engine.store.read(find)) is None:
        raise NotFound(f"No request is known for message {message_id}: it was imported, or there is no such message.")
    return await past_request(engine, conversation_id, *place)


async def check_requests(engine: ContextEngine, conversation_id: ConversationId) -> RequestsCheck:
    """Makes every request of the conversation's own turns again. Takes some milliseconds for each, and the memory that
    the whole conversation needs. Raises NotFound."""
    steps, words = await engine.store.search(read_requests, conversation_id)
    return await asyncio.to_thread(check, conversation_id, steps, words, engine.models)


def read_requests(conversation_id: ConversationId) -> tuple[list[StepRecord], Words]:
    """The steps of the conversation's own turns, and the words of their requests. Raises NotFound."""
    conversations.get(conversation_id)
    steps = sent_requests.steps_in(conversation_id)
    known = [step.request for step in steps if step.request is not None]
    return steps, sent_requests.read_words(conversation_id, known)


def check(conversation_id: ConversationId, steps: Sequence[StepRecord], words: Words, models: Models) -> RequestsCheck:
    """Makes the requests again of what `read_requests` has read."""
    done = RequestsCheck()
    for step in steps:
        if (request := step.request) is None:
            done.n_unknown += 1
            continue
        model = models.assume(step.model)
        try:
            context = _made_again(conversation_id, step, request, words, model, _UNCOUNTED, {})
        except _Gone as gone:
            done.gone.append((step, str(gone)))
            continue
        if context.digest() == request.digest:
            done.n_equal += 1
        else:
            done.differing.append(step)
    return done


def _handed_over(context: PreparedContext, *, is_redacted: bool) -> PreparedContext:
    return redact_context(context) if is_redacted else context


def _owner_of(conversation_id: ConversationId, turn_id: TurnId) -> ConversationId:
    """The conversation that the turn ran in: this one, or one that it was forked from."""
    conversations.get(conversation_id)
    turn = turn_records.find(turn_id)
    owner = turn.conversation_id
    if conversation_id != owner != conversations.owner_of(conversation_id, turn.user_message_id):
        raise NotFound(f"Turn {turn_id!r} belongs to another conversation. Read this one to see its turns.")
    return owner


def _chosen(steps: Sequence[StepRecord], number: int | None) -> StepRecord:
    if not steps:
        raise NotFound(
            "No request of this turn is known: it ended before its first one, or it was imported, and an exported "
            "conversation does not hold the requests."
        )
    if number is None:
        return steps[-1]
    for step in steps:
        if step.number == number:
            return step
    raise NotFound(
        f"This turn has no step {number}: it sent {counted(len(steps), 'request')}, and its last step is "
        f"{steps[-1].number}. The first one is 0."
    )


def _made_again(
    conversation_id: ConversationId,
    step: StepRecord,
    request: SentRequest,
    words: Words,
    model: Model,
    tokenizer: Tokenizer,
    counts: Mapping[MessageId, int],
) -> PreparedContext:
    """The request as the model's client was handed it. `counts`: the raw tokens of its messages, as far as they are
    known. Raises _Gone."""
    first = _front(request, words, tokenizer)
    pieces = _pieces(request, words, tokenizer, counts)
    frame, count = request.frame, tokenizer.count
    frame_tokens = FrameTokens(frame.system_tokens(count), frame.tools_tokens(count))
    cut = words.cuts.get(request.cut_version)
    estimator = model.estimator if cut is None else cut.estimator
    fixed = frame_tokens.total + first.tokens
    whole = whole_estimate(estimator, fixed + total_tokens(pieces), image_tokens(pieces)).mean
    shares = [estimator.factor * each.part.raw_tokens + each.part.image_tokens for each in pieces]
    segments = segments_of(
        frame,
        frame_tokens,
        first,
        pieces,
        whole=whole,
        shares=[estimator.overhead + estimator.factor * fixed, *shares],
        overhead=estimator.overhead,
        n_known_pieces=request.n_known_pieces,
    )
    laid_out = lay_out(
        conversation_id,
        model.service_name,
        frame,
        segments,
        Estimate(whole, whole),
        limit_tokens=whole,
        max_output_tokens=request.max_output_tokens,
        window_tokens=request.window_tokens,
        tool_choice=request.tool_choice,
    )
    behind = request.outline.behind
    going_on = estimator.part(count_content(GO_ON, count))
    continued = with_go_on(laid_out, behind, going_on, whole + len(behind) * going_on)
    then = continued.counted_as(step.estimated_tokens, request.limit_tokens)
    return _handed_over(replace(then, upper_tokens=request.upper_tokens), is_redacted=request.is_redacted)


def _front(request: SentRequest, words: Words, tokenizer: Tokenizer) -> Front:
    if not request.outline.has_front:
        return Front()
    cut = words.cuts.get(request.cut_version)
    if cut is None or not cut.front:
        raise _Gone("the rules in front of it were removed by a purge")
    return front(cut.front, tokenizer)


def _pieces(request: SentRequest, words: Words, tokenizer: Tokenizer, counts: Mapping[MessageId, int]) -> list[Piece]:
    pieces: list[Piece] = []
    for entry in request.outline.entries:
        match entry:
            case SummaryEntry():
                if (summary := words.summaries.get(entry.id)) is None:
                    raise _Gone("a summary in it was purged")
                pieces.append(block(summary, tokenizer))
            case MessagesEntry():
                for each in range(entry.start, entry.end):
                    message = _message(words, MessageId(each))
                    pieces.append(live(message, _size(message, tokenizer, counts), None, tokenizer))
            case ChangedEntry():
                message = _message(words, entry.id)
                preview = words.previews[request.cut_version].get(entry.id) if entry.is_preview else None
                if entry.is_preview and preview is None:
                    raise _Gone(f"the preview of message {entry.id} was purged")
                told = _injected(words, entry.injections)
                note = _injected(words, () if entry.note is None else (entry.note,))
                pieces.append(live(message, _size(message, tokenizer, counts), preview, tokenizer, told, note))
    return pieces


def _message(words: Words, message_id: MessageId) -> StoredMessage:
    message = words.messages.get(message_id)
    if message is None or message.purged is not None:
        raise _Gone(f"message {message_id} was purged")
    return message


def _size(message: StoredMessage, tokenizer: Tokenizer, counts: Mapping[MessageId, int]) -> int:
    return counts[message.id] if message.id in counts else count_content(message.content, tokenizer.count)


def _injected(words: Words, ids: tuple[int, ...]) -> Injected | None:
    if any(each not in words.injections for each in ids):
        raise _Gone("text that was told behind a message was purged, or a fact in it was forgotten")
    return Injected(ids, joined(words.injections[each] for each in ids)) if ids else None
