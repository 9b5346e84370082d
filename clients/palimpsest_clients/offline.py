"""The provider of who has configured none: it answers with exact quotes, or says that it found nothing.

No network, no model, nothing made up: every sentence that is not one of the fixed ones below is cut out of a file or a
message, with the place where it stands. That no model is set up, the editor says (`services.offline_notice`), once.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Final

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import ConversationId, Role
from palimpsest.domain.models.provider import Finished, StopReason, StreamEvent, TextDelta, TokenUsage
from palimpsest.domain.offline.passages import FileSource, MessageSource, Passage, Source
from palimpsest.domain.offline_texts import FOUND, HELLO, NO_ROOM, NOTHING, WELCOME
from palimpsest.wording import counted

OFFLINE: Final = "offline"
"""The provider's name, and the model's."""

Find = Callable[[ConversationId, str], Awaitable[Sequence[Passage]]]
"""Passages of the folder and the conversation that answer a question, best first; empty when nothing does."""

_BYTES_PER_TOKEN: Final = 4
_PIECE_CHARS: Final = 48

_FOUND: Final = f"{FOUND}\n"
_SPEAKERS: Final = {Role.USER: "you", Role.ASSISTANT: "the assistant", Role.TOOL: "a tool"}

_GREETINGS: Final = frozenset(
    """hello hi hey hiya howdy yo moin hallo greetings good morning afternoon evening night day bye goodbye ciao welcome
    help ping test testing ok okay yes no cool great nice fine perfect super wow lol""".split()
)
_THANKS: Final = frozenset("thanks thank thx cheers ta merci danke".split())
_FILLERS: Final = frozenset(
    """a again all and awesome for everyone friend in is it much my nice now of offline palimpsest please so that the
    there this to very world you your""".split()
)
_SMALL_TALK = re.compile(
    r"(?:(?:hello|hi|hey)\W+)?(?:how are you(?: doing)?(?: today)?|how do you do|how is it going|what'?s up|"
    r"(?:who|what) are you|what(?:'?s| is) your name|what (?:can|do) you do|what can i (?:ask|do)(?: you| here)?|"
    r"how do you work|can you help(?: me)?|are you there|is anyone there|are you an? (?:bot|ai|human|robot|model))"
)


class OfflineProvider:
    """Answers the newest user message of a context with what `find` finds.

    Usage of the answer is counted as UTF-8 bytes / 4, rounded up. No tokens of the request are reported: nobody counted
    them, and a guess would teach the calibration nothing true.
    """

    name: Final = OFFLINE

    def __init__(self, find: Find) -> None:
        self._find = find

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        """Never longer than the context's `max_output_tokens`; OUTPUT_LIMIT when something had to be left out."""
        answer, is_cut = await self._answer(context)
        for start in range(0, len(answer), _PIECE_CHARS):
            yield TextDelta(answer[start : start + _PIECE_CHARS])
            await asyncio.sleep(0)  # lets others run; there is nothing to wait for
        usage = TokenUsage(output_tokens=_tokens(answer))
        yield Finished(StopReason.OUTPUT_LIMIT if is_cut else StopReason.END, usage)

    async def _answer(self, context: PreparedContext) -> tuple[str, bool]:
        """The text, and whether something was left out."""
        limit_bytes = context.max_output_tokens * _BYTES_PER_TOKEN
        question = _newest_question(context)
        reply = _small_talk(question)
        if reply is None:
            passages = await self._find(context.conversation_id, question)
            if passages:
                return _quotes(passages, limit_bytes)
            reply = NOTHING
        return _cut(f"{reply}\n", limit_bytes)


def _newest_question(context: PreparedContext) -> str:
    """What the user said last. Summaries and injections have the user's role too, but are not the user's."""
    for segment in reversed(context.segments):
        if segment.type in ("message", "preview"):
            for content in reversed(segment.contents):
                if content.role is Role.USER:
                    return content.text
    return ""


def _small_talk(message: str) -> str | None:
    """The reply to a message that asks nothing; None for a question."""
    text = message.strip().lower().rstrip("?!. ")
    spoken = re.findall(r"[^\W_]+(?:'[^\W_]+)*", text)
    if _SMALL_TALK.fullmatch(text) or not spoken:
        return HELLO
    known = _GREETINGS | _THANKS
    if not known.isdisjoint(spoken) and (known | _FILLERS).issuperset(spoken):
        return HELLO if _THANKS.isdisjoint(spoken) else WELCOME
    return None


def _quotes(passages: Sequence[Passage], limit_bytes: int) -> tuple[str, bool]:
    """The quotes, those of one source together; as many lines as fit. Also whether some did not."""
    by_source: dict[Source, list[Passage]] = {}
    for passage in passages:
        by_source.setdefault(passage.source, []).append(passage)
    ordered = [passage for group in by_source.values() for passage in sorted(group, key=lambda one: one.line)]
    answer = _FOUND
    is_cut = False
    for passage in ordered:
        n_lines = passage.text.count("\n") + 1
        room = limit_bytes - len(answer.encode())
        n_fitting = next((n for n in range(n_lines, 0, -1) if len(_quote(passage, n).encode()) <= room), 0)
        answer += _quote(passage, n_fitting)
        is_cut = is_cut or n_fitting < n_lines
    if answer == _FOUND:
        answer = f"{NO_ROOM}\n"
    text, is_end_cut = _cut(answer, limit_bytes)
    return text, is_cut or is_end_cut


def _quote(passage: Passage, n_lines: int) -> str:
    """The first lines of a passage as a Markdown block quote under its place. Empty for no lines."""
    if not n_lines:
        return ""
    lines = [line.rstrip("\r") for line in passage.text.split("\n")[:n_lines]]
    source = passage.source
    place = f"`{source.place(passage.line, passage.line + n_lines - 1)}`"
    if isinstance(source, MessageSource):
        place += f", from {_SPEAKERS[source.role]}"
    if passage.n_source_lines is not None:
        place += f", {n_lines} of {counted(passage.n_source_lines, 'line')}" if n_lines < passage.n_source_lines else ""
        width = len(str(n_lines))
        lines = [f"{number:>{width}}  {line}" for number, line in enumerate(lines, passage.line)]
    if passage.n_source_lines is not None or (isinstance(source, FileSource) and not source.is_prose):
        longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
        fence = "`" * max(3, longest + 1)  # so that Markdown shows code as it is
        lines = [fence, *lines, fence]
    return f"\n{place}\n\n" + "".join(f"> {line}\n" if line else ">\n" for line in lines)


def _cut(text: str, limit_bytes: int) -> tuple[str, bool]:
    """The text, or as much of it as the limit allows, and whether that is less."""
    data = text.encode()
    return data[:limit_bytes].decode(errors="ignore"), len(data) > limit_bytes


def _tokens(text: str) -> int:
    return -(-len(text.encode()) // _BYTES_PER_TOKEN)
