"""Summarizers: who writes the text of a summary. Whether it is adopted is not decided here.

`ExtractiveSummarizer` takes a page of the notebook; it needs no model and cannot fail. `LlmSummarizer` asks a model and
accepts nothing that `by_model.problem` refuses; `HybridSummarizer` puts a page in front of its text.
`PatientSummarizer` bounds the wait and answers with the page alone whenever the model does not deliver.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from palimpsest.domain.context.cut import Piece, SummaryPiece, piece_starts, total_tokens
from palimpsest.domain.context.previews import SMALLEST_PREVIEW
from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.context.rules.rule_set import split_standing_rules
from palimpsest.domain.context.summaries.by_model import (
    CAP_TOKENS,
    PART_TOKENS,
    Problem,
    Prompts,
    behind_gutter,
    enclose,
    is_tool_work,
    originals_text,
    problem,
    record,
)
from palimpsest.domain.context.summaries.hybrid import hybrid_text
from palimpsest.domain.context.summaries.node import AUTHOR, EXTRACTIVE, HYBRID, LLM, PROSE
from palimpsest.domain.context.tokens import MESSAGE_OVERHEAD, CountText
from palimpsest.domain.errors import ErrorKind, PalimpsestError
from palimpsest.domain.messages import ConversationId
from palimpsest.domain.models.provider import StopReason, TokenUsage
from palimpsest.services.models.helper import Check, HelpingModel, unchecked

log = logging.getLogger(__name__)

REQUEST_ROOM: Final = 400
"""Raw tokens kept for what stands behind the transcript: the length wanted, and what was wrong the first time."""
SMALLEST_AIM: Final = 40
"""Raw tokens: a model is never asked for less."""
LEFT_SHARE: Final = 0.25
"""Of a stretch of messages: when a model has written ahead about the others, it is not asked about so few."""
_ASKED_SHARE: Final = 0.5
"""Of the room for prose: how much a model is asked for. Exact names take more tokens than other words."""
_TOPIC: Final = "summaries"


class UnusableSummary(PalimpsestError):
    """A model gave no text that can be used. Its message holds nothing of the text."""

    kind = ErrorKind.BAD_RESPONSE

    def __init__(self, message: str, usage: TokenUsage | None = None) -> None:
        super().__init__(message)
        self.usage = usage or TokenUsage()
        """What it took."""


@dataclass(frozen=True, slots=True)
class Written:
    """The text of a summary and where it comes from."""

    text: str
    kind: str
    """`extractive`, `llm`, `hybrid` or, written ahead, `prose`."""
    author: str
    """The model's name, or `palimpsest`."""
    note: str | None = None
    """A sentence for the user about what did not go as wanted."""
    usage: TokenUsage = field(default_factory=TokenUsage)
    """Of all model calls for a text that was accepted, those for refused attempts included."""
    refused: TokenUsage = field(default_factory=TokenUsage)
    """Of a model whose text was refused, so that this one stands in its place."""
    later: asyncio.Task[Written] | None = None
    """Brings a model's text for the same pieces that did not come in time. Whoever takes this sees to its end."""


@dataclass(frozen=True, slots=True)
class SummaryTask:
    """What a text is wanted for. All sizes are raw tokens as `count` counts them."""

    pieces: Sequence[Piece]
    target_tokens: int
    """The size to aim at."""
    count: CountText
    page: Callable[[int], Awaitable[str]]
    """The notebook's page of the pieces, in about so many tokens."""
    check: Check = unchecked
    """Called right before words of the pieces are sent to a model; what it raises passes through."""
    prose_tokens: int = 0
    """The room for a model's text behind a page; what it takes beyond is taken from the page."""
    ahead: Sequence[SummaryPiece] = ()
    """Texts that a model wrote ahead about the first of the pieces, the oldest first."""
    about: ConversationId | None = None
    """The conversation that pays for it."""


class Summarizer(Protocol):
    """Writes a text that can stand for some pieces."""

    async def write(self, task: SummaryTask) -> Written:
        """A text of about the size that the task aims at. Raises PalimpsestError when there is none."""
        ...


@dataclass(frozen=True, slots=True)
class ExtractiveSummarizer:
    """Quotes. Deterministic; never raises."""

    async def write(self, task: SummaryTask) -> Written:
        return Written(await task.page(task.target_tokens), EXTRACTIVE, AUTHOR)


@dataclass(slots=True)
class _Job:
    """What one `write` is about."""

    originals: str
    original_tokens: int
    count: CountText
    check: Check
    about: ConversationId | None
    usage: TokenUsage = field(default_factory=TokenUsage)

    def problem(self, text: str) -> Problem | None:
        return problem(text, self.originals, self.original_tokens, self.count)

    def spend(self, usage: TokenUsage) -> None:
        self.usage = TokenUsage(
            self.usage.input_tokens + usage.input_tokens,
            self.usage.cache_read_tokens + usage.cache_read_tokens,
            self.usage.cache_write_tokens + usage.cache_write_tokens,
            self.usage.output_tokens + usage.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class LlmSummarizer:
    """Asks a model; splits what does not fit its window, and merges what it wrote.

    Each text is checked, and asked for once more when it cannot be used. Raises UnusableSummary after that,
    ProviderError when the provider fails.
    """

    helper: HelpingModel
    """Its vocabulary may not be the conversation's."""
    prompts: Prompts
    advice: str = ""
    """Sentences behind each request, for a text that does not stand alone."""

    async def write(self, task: SummaryTask) -> Written:
        pieces, count = task.pieces, task.count
        aim = max(min(task.target_tokens, CAP_TOKENS), SMALLEST_AIM)
        instructions = self.prompts.tool_calls if is_tool_work(pieces) else self.prompts.episode
        originals = await asyncio.to_thread(originals_text, pieces)
        job = _Job(originals, total_tokens(pieces), count, task.check, task.about)
        stretches = await asyncio.to_thread(self._split, pieces, self._room(instructions))
        each = max(aim // len(stretches), SMALLEST_AIM)
        texts = [await self._ask(instructions, stretch, each, job) for stretch in stretches]
        while len(texts) > 1 and count("\n\n".join(texts)) > aim:
            texts = await self._merge(texts, aim, job)
        return Written("\n\n".join(texts), LLM, self.helper.model.name, usage=job.usage)

    def _room(self, instructions: str) -> int:
        """Raw tokens that a transcript may take."""
        frame = Frame(instructions, ()).system_tokens(self.helper.count)
        room = (
            self.helper.model.estimator.raw_within(self.helper.budget.budget) - frame - MESSAGE_OVERHEAD - REQUEST_ROOM
        )
        # A text counted in parts may take a little less than the whole.
        return room - room // 50 - self.helper.count(enclose([]))

    def _split(self, pieces: Sequence[Piece], room: int) -> list[list[str]]:
        """Records of the pieces in stretches that fit, whole blocks and exchanges, oldest first."""
        starts = piece_starts(pieces)
        units = [pieces[first:after] for first, after in zip(starts, [*starts[1:], len(pieces)], strict=True)]
        return self._fill([self._fitting_record(unit, room) for unit in units], room)

    def _fitting_record(self, unit: Sequence[Piece], room: int) -> str:
        """The pieces of one exchange, their parts cut as far as it takes to fit. Raises UnusableSummary."""
        part_tokens = PART_TOKENS
        while part_tokens >= SMALLEST_PREVIEW:
            text = "\n".join(record(piece, part_tokens) for piece in unit)
            if self.helper.count(text) < room:
                return text
            part_tokens //= 2
        raise UnusableSummary(f"One exchange is too large for the window of {self.helper.model.name}.")

    def _fill(self, records: Sequence[str], room: int) -> list[list[str]]:
        stretches: list[list[str]] = [[]]
        used = 0
        for text in records:
            size = self.helper.count(text) + 1
            if stretches[-1] and used + size > room:
                stretches.append([])
                used = 0
            stretches[-1].append(text)
            used += size
        return stretches

    async def _merge(self, texts: Sequence[str], aim: int, job: _Job) -> list[str]:
        """Fewer texts than before, of about `aim` together. Raises UnusableSummary when no two fit a request."""
        notes = [behind_gutter(f"note {number}", text) for number, text in enumerate(texts, 1)]
        groups = await asyncio.to_thread(self._fill, notes, self._room(self.prompts.merge))
        if len(groups) == len(texts):
            why = f"The window of {self.helper.model.name} is too small to merge partial summaries."
            raise UnusableSummary(why, job.usage)
        merged: list[str] = []
        for group in groups:
            if len(group) > 1:
                merged.append(await self._ask(self.prompts.merge, group, max(aim // len(groups), SMALLEST_AIM), job))
            else:
                merged.append(texts[notes.index(group[0])])
        return merged

    async def _ask(self, instructions: str, records: Sequence[str], aim: int, job: _Job) -> str:
        """A text that `problem` accepts, from at most two model calls."""
        material = enclose(records)
        request = f"{material}\n\nWrite the text now, in at most {aim * 3 // 4} words. {self.advice}".rstrip()
        text, fault = await self._attempt(instructions, request, job)
        if fault is not None:
            again = f"{request} A first attempt could not be used: {fault.for_model} Write it without this fault."
            text, fault = await self._attempt(instructions, again, job)
        if fault is not None:
            why = f"The text by {self.helper.model.name} could not be used, twice. {fault.sentence}"
            raise UnusableSummary(why, job.usage)
        return text

    async def _attempt(self, instructions: str, request: str, job: _Job) -> tuple[str, Problem | None]:
        reply = await self.helper.ask(instructions, request, _TOPIC, job.check, job.about)
        job.spend(reply.usage)
        match reply.stop_reason:
            case None:
                return reply.text, Problem("The summary did not come to an end.")
            case StopReason.FILTERED:
                return reply.text, Problem("The summary was held back by a filter of the provider.")
            case StopReason.OUTPUT_LIMIT if reply.text:
                return reply.text, Problem("The summary was too long and broke off.")
        return reply.text, await asyncio.to_thread(job.problem, reply.text)


@dataclass(frozen=True, slots=True)
class HybridSummarizer:
    """A page of all the pieces, and behind it the model's texts: those written ahead, and one about the rest of the
    pieces when that is large."""

    llm: LlmSummarizer

    async def write(self, task: SummaryTask) -> Written:
        texts = [split_standing_rules(each.summary.text)[1] for each in task.ahead]
        rest = without(task.pieces, task.ahead)
        author, usage = task.ahead[-1].summary.author if task.ahead else "", TokenUsage()
        if total_tokens(rest) > LEFT_SHARE * total_tokens(task.pieces):
            share = total_tokens(rest) / total_tokens(task.pieces)
            written = await self.prose(replace(task, pieces=rest, prose_tokens=int(task.prose_tokens * share)))
            if written is not None:
                texts.append(written.text)
                author, usage = written.author, written.usage
        prose = "\n".join(texts)
        excess = max(task.count(prose) - task.prose_tokens, 0)
        page = await task.page(max(task.target_tokens - excess, task.target_tokens // 2))
        if not texts:
            return Written(page, EXTRACTIVE, AUTHOR)
        return Written(hybrid_text(page, prose), HYBRID, author, usage=usage)

    async def prose(self, task: SummaryTask) -> Written | None:
        """The model's text alone; None when the room for it is too small to ask."""
        aim = int(task.prose_tokens * _ASKED_SHARE)
        if aim < SMALLEST_AIM:
            return None
        return replace(await self.llm.write(replace(task, target_tokens=aim)), kind=PROSE)


@dataclass(frozen=True, slots=True)
class PatientSummarizer:
    """`first`, or the page alone with a note when it fails, is no shorter, or keeps somebody waiting too long."""

    first: Summarizer
    wait_s: float
    """How long `write` waits."""
    limit_s: float
    """How long `first` may take in all, its text then comes `later`."""

    async def write(self, task: SummaryTask) -> Written:
        """Never raises."""
        writing = asyncio.create_task(self.at_leisure(task))
        later: asyncio.Task[Written] | None = None
        refused = TokenUsage()
        try:
            await asyncio.wait({writing}, timeout=self.wait_s)
            if writing.done():
                return writing.result()
            later, why = writing, f"No summary came from the model within {self.wait_s:g} seconds."
        except TimeoutError:
            why = f"No summary came from the model within {self.limit_s:g} seconds."
        except UnusableSummary as error:
            why, refused = str(error), error.usage
        except PalimpsestError as error:
            why = str(error)
        except Exception:
            log.exception("a summarizer failed")
            why = "The summarizer failed inside Palimpsest."
        finally:
            if later is None and not writing.done():
                writing.cancel()
                await asyncio.wait({writing})
        try:
            quoted = await ExtractiveSummarizer().write(task)
        except asyncio.CancelledError:
            writing.cancel()
            raise
        note = f"{why} It was written without a model instead."
        return Written(quoted.text, quoted.kind, quoted.author, note, refused=refused, later=later)

    async def ahead(self, task: SummaryTask) -> Written | None:
        """The text of `first` without a page, which is chosen when it is needed; None when no model is asked. Raises as
        `at_leisure` does."""
        if isinstance(self.first, HybridSummarizer):
            async with asyncio.timeout(self.limit_s):
                return await self.first.prose(task)
        return await self.at_leisure(task)

    async def at_leisure(self, task: SummaryTask) -> Written:
        """The text of `first`. Raises PalimpsestError, or TimeoutError after `limit_s`."""
        async with asyncio.timeout(self.limit_s):
            written = await self.first.write(task)
        if task.count(written.text) >= total_tokens(task.pieces):
            raise UnusableSummary("The summary with its page is not shorter than what it stands for.", written.usage)
        return written


def without(pieces: Sequence[Piece], ahead: Sequence[SummaryPiece]) -> list[Piece]:
    """The pieces that come after those that the texts written ahead are about."""
    return [piece for piece in pieces if not ahead or piece.start >= ahead[-1].end]
