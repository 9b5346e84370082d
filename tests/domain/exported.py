"""Random conversations as they are exported: tool calls, purged messages, forks, summaries, hidden ranges, cuts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import hypothesis.strategies as st
from tests.domain.histories import exchanges

from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.conversation.chain import content_digest, message_digest
from palimpsest.domain.errors import ErrorKind
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    ConversationId,
    Digest,
    MessageId,
    MessageStatus,
    OpaquePart,
    ReasoningPart,
    Role,
    SummaryId,
    TextPart,
    ToolCallPart,
    TurnId,
    tool_result,
    user_message,
)
from palimpsest.domain.transfer.conversation import (
    CutLine,
    ExpansionLine,
    Header,
    HiddenLine,
    Instant,
    MessageLine,
    Origin,
    PreviewLine,
    SummaryLine,
    Transfer,
    TurnLine,
    WithdrawalLine,
)
from palimpsest.domain.turns.states import FINAL_STATES, TurnState

NOW = Instant("2026-01-01T00:00:00.000Z")
ODD = Content(
    Role.ASSISTANT,
    (ReasoningPart("hm\u2028"), TextPart("é \U0001f389\r\n\x85"), OpaquePart("p", "m", '{"a":"\\u0000"}')),
    MessageStatus.CANCELLED,
    ("removed 1 NUL character",),
)
ATTACHED = Content(Role.USER, (TextPart('{"palimpsest": 1}'), AttachmentPart("a.py:1", "x = 1")))


def chained(
    conversation_id: ConversationId,
    contents: Sequence[Content],
    turns: Sequence[TurnId | None],
    parents: Sequence[ConversationId | None] = (),
) -> tuple[MessageLine, ...]:
    """Messages with true digests; `parents`: whose rows the first of them are."""
    predecessor: Digest | None = None
    lines: list[MessageLine] = []
    for number, (content, turn) in enumerate(zip(contents, turns, strict=True)):
        owner, own = parents[number] if number < len(parents) else None, content_digest(content)
        predecessor = message_digest(predecessor, owner or conversation_id, MessageId(number), NOW, turn, own)
        lines.append(MessageLine(MessageId(number), NOW, own, predecessor, owner, turn, content))
    return tuple(lines)


def header(conversation_id: ConversationId, n_messages: int) -> Header:
    return Header(conversation_id, "a title", False, "offline", NOW, n_messages, False, "a draft", MessageId(0))


def summary(number: int, start: int, end: int, level: int = 1, children: Sequence[int] = ()) -> SummaryLine:
    below = tuple(SummaryId(child) for child in children)
    text = f"what was said from {start} to {end}"
    return SummaryLine(
        SummaryId(number), MessageId(start), MessageId(end), level, "hybrid", text, 90, "m", NOW, below, 5, 60, 7
    )


def cut(version: int, end: int, blocks: Sequence[int] = ()) -> CutLine:
    ids = tuple(SummaryId(block) for block in blocks)
    return CutLine(
        version,
        CutCause.USER,
        "offline",
        1.25,
        0.1,
        3,
        "f" * 64,
        MessageId(end),
        ids,
        "",
        (),
        (("threshold", 600),),
        900,
        300,
        12,
        NOW,
    )


C = ConversationId("c")
CALL = ToolCallPart("1", "read", '{"path": "a"}')
SECRET = "hunter2"
"""Stands in a message; no error may quote it."""
CONTENTS = (
    user_message(f"question {SECRET}"),
    Content(Role.ASSISTANT, (CALL,)),
    tool_result(CALL, "result"),
    Content(Role.ASSISTANT, (TextPart("answer"),)),
    user_message("more"),
    Content(Role.ASSISTANT, (TextPart("more of it"),)),
)
TURNS = [TurnId("t")] * 4 + [TurnId("u")] * 2
TURN = TurnLine(TurnId("t"), MessageId(0), TurnState.COMMITTED, "offline", NOW, NOW)
SOUND = Transfer(
    header(C, len(CONTENTS)),
    chained(C, CONTENTS, TURNS),
    (TURN,),
    (summary(0, 0, 1), summary(1, 1, 3), summary(2, 0, 4, 2, (0, 1))),
    (HiddenLine(MessageId(4), MessageId(6), 3, NOW),),
    (ExpansionLine(MessageId(0), MessageId(1)),),
    (WithdrawalLine(MessageId(0), 0, NOW),),
    (cut(1, 4), cut(2, 4, (2,))),
    (PreviewLine(MessageId(2), tool_result(CALL, "res…")),),
)
"""A conversation with one of everything."""


@st.composite
def transfers(draw: st.DrawFn) -> Transfer:
    """A sound conversation that is no fork."""
    said = draw(st.lists(st.one_of(exchanges(), st.just([ODD]), st.just([ATTACHED])), min_size=1, max_size=6))
    contents = [content for exchange in said for content in exchange]
    starts = [sum(len(exchange) for exchange in said[:number]) for number in range(len(said) + 1)]
    some_turns = [None, *(TurnId(f"turn {n}") for n in range(4))]
    turn_ids = draw(st.lists(st.sampled_from(some_turns), max_size=4))
    turns = [turn_ids[number % len(turn_ids)] if turn_ids else None for number in range(len(contents))]
    messages = chained(C, contents, turns)
    edges = st.lists(st.sampled_from(starts), min_size=2, max_size=2, unique=True).map(sorted)
    summaries: list[SummaryLine] = []
    for start, end in draw(st.lists(edges, max_size=4)):
        below = [each.id for each in summaries if start <= each.start and each.end <= end]
        level = 1 + max((summaries[child].level for child in below), default=0)
        summaries.append(summary(len(summaries), start, end, level, below))
    blocks: list[int] = []
    for each in sorted(summaries, key=lambda node: node.start):
        is_wanted = draw(st.booleans())
        if is_wanted and (not blocks or summaries[blocks[-1]].end <= each.start):
            blocks.append(each.id)
    cuts = [cut(version, draw(st.sampled_from(starts))) for version in range(1, draw(st.integers(0, 2)) + 1)]
    if draw(st.booleans()) and summaries:
        cuts.append(cut(len(cuts) + 1, len(contents), blocks))
    hidden = [
        HiddenLine(MessageId(start), MessageId(end), draw(st.integers(0, len(summaries))), NOW)
        for start, end in sorted(draw(st.lists(edges, max_size=2)))
    ]
    ids = st.integers(0, len(contents) - 1).map(MessageId)
    expansions = {(MessageId(start), MessageId(end)) for start, end in draw(st.lists(edges, max_size=2))}
    previewed = sorted(draw(st.sets(ids, max_size=2)))
    ended: list[TurnLine] = []
    for turn in sorted({turn for turn in turns if turn is not None}):
        state, kind = draw(st.sampled_from(sorted(FINAL_STATES))), draw(st.sampled_from([None, *ErrorKind]))
        at = MessageId(turns.index(turn))
        ended.append(TurnLine(turn, at, state, "offline", NOW, None, draw(st.sampled_from([None, "end"])), kind))
    gone = draw(st.sets(ids, max_size=2)) - set(previewed)
    roles = st.sampled_from([None, *Role])
    origins = [None, Origin(ConversationId("elsewhere")), Origin(ConversationId("x"), Digest("a" * 64))]
    return Transfer(
        replace(
            header(C, len(contents)),
            title=draw(st.sampled_from(["", "é"])),
            has_user_title=draw(st.booleans()),
            model="a model nobody knows",
            is_archived=draw(st.booleans()),
            draft=draw(st.sampled_from(["", "a draft\nof two lines"])),
            origin=draw(st.sampled_from(origins)),
        ),
        tuple(
            replace(message, content=None, purged_role=draw(roles)) if message.id in gone else message
            for message in messages
        ),
        tuple(sorted(ended, key=lambda turn: (turn.user_message, turn.id))),
        tuple(summaries),
        tuple(hidden),
        tuple(ExpansionLine(start, end) for start, end in sorted(expansions)),
        tuple(WithdrawalLine(message_id, 1, NOW) for message_id in sorted(draw(st.sets(ids, max_size=2)))),
        tuple(cuts),
        tuple(PreviewLine(each, contents[each]) for each in previewed),
    )
