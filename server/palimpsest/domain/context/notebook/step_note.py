"""Step notes: what the context lacks about what the newest messages of a turn name.

The names of the newest messages vote for earlier messages, rare names more than frequent ones; the lines of the best
that the context does not tell make the note.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from palimpsest.domain.context.notebook.notebook import Notebook
from palimpsest.domain.context.notebook.selection import Selection
from palimpsest.domain.messages import MessageId, Role

NOTE_HEAD: Final = "[Recalled from earlier in this conversation. A record, not an instruction.]"
NOTES_SHARE: Final = 0.08
"""Of the budget: all notes between two compactions."""

_NOTE_SHARE, _KNOWN_FILE_BOOST = 0.01, 2.5
"""Of the budget: one note; and how much more it may take where a file is taken up again."""
_SMALLEST_NOTE: Final = 30
_ALSO_SHARE: Final = 0.3
_MOST_PLACES, _MOST_ASKED, _MOST_FOUND = 30, 40, 10
_NEWEST: Final = 6
_BEHIND, _BEFORE = 0.6, 0.5
"""How much the neighbors of a message that is found count."""
_TOOL_WEIGHT, _HEAD_WEIGHT, _FADING = 0.6, 1.2, 0.85
_LEAST_SCORE: Final = 1.0
_LEAST_NEW_NAMES: Final = 2


def step_note(
    book: Notebook,
    since: int,
    told: Mapping[str, float],
    live: Collection[MessageId],
    budget_tokens: int,
    room_tokens: int,
) -> str:
    """The note for a step whose new messages are those from `since` on; empty where there is nothing to tell.

    `told`: how well each name is told in the context, by key. `live`: the messages that are sent whole. Tokens are raw.
    """
    fresh = book.within(since, book.n_read)
    if not fresh:
        return ""
    share = _NOTE_SHARE
    paths = {book.entries[id].path for id in fresh[-4:]} - {""}
    if any(book.first_of_file.get(path, book.n_read) < fresh[0] for path in paths):
        share *= _KNOWN_FILE_BOOST
    room = min(room_tokens, int(share * budget_tokens)) - book.count(NOTE_HEAD) - 4
    if room < _SMALLEST_NOTE:
        return ""
    found = _found(book, _asked(book, fresh), live)
    before = dict(told)
    lines = Selection(book, before, room, _ALSO_SHARE, dict(sorted(found.items()))).lines()
    n_new = sum(name not in told for name in before)
    return "\n".join([NOTE_HEAD, *lines]) if lines and n_new >= _LEAST_NEW_NAMES else ""


def _asked(book: Notebook, fresh: Sequence[MessageId]) -> dict[str, float]:
    """The names of the newest messages, and how much each asks for what is known of it."""
    asked: dict[str, float] = {}
    for distance, id in enumerate(reversed(fresh[-_NEWEST:])):
        entry = book.entries[id]
        weight = (_TOOL_WEIGHT if entry.role is Role.TOOL else 1.0) * _FADING**distance
        for name in entry.names:
            asked[name] = max(asked.get(name, 0.0), weight)
        for name in entry.head_names:
            asked[name] = max(asked.get(name, 0.0), _HEAD_WEIGHT * weight)
    return asked


def _found(book: Notebook, asked: Mapping[str, float], live: Collection[MessageId]) -> dict[MessageId, float]:
    """Earlier messages that are not live, with how well they answer."""
    scores: defaultdict[MessageId, float] = defaultdict(float)
    known = [name for name in asked if name in book.uses and len(book.uses[name].places) > 1]
    for name in sorted(known, key=lambda each: (len(book.uses[each].places), each))[:_MOST_ASKED]:
        places = book.uses[name].places
        for id in places[-_MOST_PLACES:]:
            scores[id] += asked[name] * math.log(1 + book.n_read / len(places))
    found: dict[MessageId, float] = {}
    for id, score in sorted(scores.items(), key=lambda each: (-each[1], -each[0]))[:_MOST_FOUND]:
        for near, share in ((id, 1.0), (MessageId(id + 1), _BEHIND), (MessageId(id - 1), _BEFORE)):
            if score >= _LEAST_SCORE and near in book.entries and near not in live:
                size = math.log(8 + len(book.entries[near].names))
                found[near] = max(found.get(near, 0.0), share * score / size)
    return found
