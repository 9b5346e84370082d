"""What a merged summary is made of, so that the tree stays shallow.

Blocks are merged again and again into one that stands for everything before. Were each made of the last one and what
came since, the tree would be as deep as there were merges. Instead the `n`th one is made of that one of its
predecessors whose number is `n` without its lowest binary digit, and of what came behind that: each step down the tree
takes a digit away, so its depth grows like the logarithm of `n`, and most summaries are made of a few others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from palimpsest.domain.messages import MessageId, SummaryId


@dataclass(frozen=True, slots=True)
class TreeNode:
    """The place of a summary in the tree."""

    start: MessageId
    end: MessageId
    level: int
    children: tuple[SummaryId, ...]
    """Oldest first; empty for one that was made of messages only."""


def made_of(blocks: Sequence[SummaryId], tree: Mapping[SummaryId, TreeNode]) -> tuple[SummaryId, ...]:
    """The summaries, oldest first, that one in the place of all `blocks` (oldest first, at least one, all in `tree`) is
    made of. They stand for the same messages, in the same order. `tree`: all summaries of the conversation."""
    start = tree[blocks[0]].start
    merged_until = {node.end for node in tree.values() if node.children and node.start == start}

    def number(id: SummaryId) -> int:
        """How many summaries were merged from the same start on, up to this one; 0 for one of messages."""
        node = tree[id]
        return sum(end <= node.end for end in merged_until) if node.children else 0

    first, behind = blocks[0], list(blocks[1:])
    next_number = number(first) + 1
    most = next_number & (next_number - 1)
    while number(first) > most and all(child in tree for child in tree[first].children):
        first, *others = tree[first].children
        behind = [*others, *behind]
    return (first, *behind)
