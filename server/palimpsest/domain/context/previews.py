"""Previews of messages that are too large to be sent whole: head, tail, and an outline of what lies between.

The whole message stays in the store; a preview names it, and the tool that reads it. Deterministic: the same content
and cap give the same text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from palimpsest.domain.context.cut import MessagePiece
from palimpsest.domain.context.notebook.names import names_in
from palimpsest.domain.context.notebook.outline import outline
from palimpsest.domain.context.tokens import MESSAGE_OVERHEAD, CountText, count_content
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    ImagePart,
    MessageId,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    canonical_json,
)

SMALLEST_PREVIEW: Final = 48
"""Raw tokens below which a preview says nothing any more."""

_TELLING = re.compile(r"\b(error|exception|fail(ed|ure|s)?|traceback|panic|fatal|warning|denied|not found)\b", re.I)
_HEAD_SHARE, _TELLING_SHARE = 0.45, 0.25
_OUTLINED_HEAD_SHARE, _OUTLINED_TAIL_SHARE = 0.35, 0.20
_SMALLEST_OUTLINED: Final = 300
"""Raw tokens under which an outline says nothing."""
_SEPARATORS: Final = 12


def make_preview(content: Content, message_id: MessageId, cap_tokens: int, count: CountText) -> Content:
    """The message with its large parts cut down so that the whole takes at most `cap_tokens` raw tokens.

    The cap may be exceeded only by what cannot be cut: names, ids and the note that says what was left out.
    """
    content = without_images(content, message_id)
    sizes = [count_content(replace(content, parts=(part,)), count) - MESSAGE_OVERHEAD for part in content.parts]
    share = fair_share(sizes, max(cap_tokens - MESSAGE_OVERHEAD, 1))
    parts = tuple(
        part if size <= share else _shorten(part, message_id, share, count)
        for part, size in zip(content.parts, sizes, strict=True)
    )
    return replace(content, parts=parts)


def without_images(content: Content, message_id: MessageId) -> Content:
    """The message with a line for each of its pictures, which says how the picture is found."""
    parts: list[Part] = []
    n_images = 0
    for part in content.parts:
        if not isinstance(part, ImagePart):
            parts.append(part)
            continue
        n_images += 1
        line = part.line(f"{message_id}:{n_images}")
        if parts and isinstance(result := parts[-1], ToolResultPart):
            parts[-1] = replace(result, text=f"{result.text}\n{line}")
        else:
            parts.append(TextPart(line))
    return replace(content, parts=tuple(parts)) if n_images else content


def fair_share(sizes: Sequence[int], room: int) -> int:
    """The largest cap for which the sizes, each cut to it, fit `room` together; at least 0."""
    left, share = room, room
    for n_done, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - n_done)
        if size > share:
            return max(share, 0)
        left -= size
    return max(share, max(sizes, default=0))


def _shorten(part: Part, message_id: MessageId, cap_tokens: int, count: CountText) -> Part:
    match part:
        case TextPart() | ToolResultPart() | AttachmentPart():
            return replace(part, text=_outlined(part.text, message_id, cap_tokens, count))
        case ToolCallPart():
            # The arguments must stay a JSON object: providers refuse anything else.
            room = max(cap_tokens - count(part.name), 1)
            kept = shorten_text(part.arguments, message_id, room * 3 // 4, count, _handle(message_id))
            return replace(part, arguments=canonical_json({"preview": kept}))
        case _:
            return part


def _handle(message_id: MessageId) -> str:
    """How a model reads the whole, in the words of the tool's arguments."""
    return f": tool_output message_id={message_id} reads it"


def shorten_text(text: str, message_id: MessageId, cap_tokens: int, count: CountText, handle: str = "") -> str:
    """At most about `cap_tokens` raw tokens of `text`: its head, telling lines from the middle, its tail.

    `handle` is said behind where the whole is kept.
    """
    size = count(text)
    if size <= cap_tokens:
        return text
    n_chars = int(len(text) * cap_tokens / size)
    while True:
        short = _excerpt(text, f"message {message_id}{handle}", n_chars)
        if n_chars < 8 or count(short) <= cap_tokens:
            return short
        n_chars = n_chars * 3 // 4


def _outlined(text: str, message_id: MessageId, cap_tokens: int, count: CountText) -> str:
    """At most about `cap_tokens` raw tokens of `text`: its head, an outline of what lies between, its tail."""
    size = count(text)
    if size <= cap_tokens:
        return text
    shortened = shorten_text(text, message_id, cap_tokens, count, _handle(message_id))
    if cap_tokens < _SMALLEST_OUTLINED:
        return shortened
    per_token = len(text) / size
    head = _until_line_end(text[: int(cap_tokens * _OUTLINED_HEAD_SHARE * per_token)])
    tail = _from_line_start(text[len(text) - int(cap_tokens * _OUTLINED_TAIL_SHARE * per_token) :])
    between = text[len(head) : len(text) - len(tail)]
    note = (
        f"[… {len(between)} of {len(text)} characters left out here; the whole is kept as message {message_id}"
        f"{_handle(message_id)}. Lines from there:]"
    )
    room = cap_tokens - count(head) - count(tail) - count(note) - _SEPARATORS
    lines = outline(between, room, {*names_in(head), *names_in(tail)}, _TELLING, count)
    whole = "\n".join(piece for piece in (head.rstrip("\n"), note, *lines, tail) if piece)
    return whole if count(whole) <= cap_tokens else shortened


def _excerpt(text: str, kept_as: str, n_chars: int) -> str:
    n_head = int(n_chars * _HEAD_SHARE)
    n_telling = int(n_chars * _TELLING_SHARE)
    head = _until_line_end(text[:n_head])
    telling: list[str] = []
    room = n_telling
    for line in text[len(head) :].splitlines():
        if room > 0 and _TELLING.search(line[:400]):
            telling.append(line[: min(room, 300)])
            room -= len(telling[-1]) + 1
        if room <= 0:
            break
    n_tail = n_chars - len(head) - (n_telling - max(room, 0))
    tail = _from_line_start(text[len(text) - n_tail :]) if n_tail > 0 else ""
    n_left_out = len(text) - len(head) - len(tail)
    note = f"[… {n_left_out} of {len(text)} characters left out here; the whole is kept as {kept_as}]"
    return "\n".join(piece for piece in (head.rstrip("\n"), note, *telling, tail) if piece)


def _until_line_end(text: str) -> str:
    """Up to the last line break in the second half, so that a line is not cut where it need not be."""
    end = text.rfind("\n", len(text) // 2)
    return text if end < 0 else text[: end + 1]


def _from_line_start(text: str) -> str:
    begin = text.find("\n", 0, len(text) // 2)
    return text if begin < 0 else text[begin + 1 :]


def with_preview(live: MessagePiece, cap_tokens: int, count: CountText) -> MessagePiece:
    """`live` shown as a preview of at most about `cap_tokens`; unchanged when that would not make it smaller."""
    preview = make_preview(live.message.content, live.message.id, cap_tokens, count)
    tokens = count_content(preview, count)
    shown = replace(live, preview=preview, preview_tokens=tokens, image_tokens=0)
    return shown if shown.tokens < live.tokens else live
