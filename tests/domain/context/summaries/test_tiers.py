"""The tree of summaries: however often blocks were merged, it is shallow, and nothing is lost or told twice in it."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.context.summaries.tiers import TreeNode, made_of
from palimpsest.domain.messages import MessageId, SummaryId

Tree = dict[SummaryId, TreeNode]


def add(tree: Tree, start: int, end: int, children: tuple[SummaryId, ...] = ()) -> SummaryId:
    id = SummaryId(len(tree))
    level = 1 + max((tree[child].level for child in children), default=0)
    tree[id] = TreeNode(MessageId(start), MessageId(end), level, children)
    return id


def leaves(id: SummaryId, tree: Tree) -> list[SummaryId]:
    """The summaries of messages below one, oldest first."""
    children = tree[id].children
    return [leaf for child in children for leaf in leaves(child, tree)] if children else [id]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=120))
def test_merges_keep_every_summary_once_and_in_order_at_a_depth_like_a_logarithm(counts: list[int]) -> None:
    tree: Tree = {}
    blocks: list[SummaryId] = []
    before: list[SummaryId] = []
    for number, n_new in enumerate(counts, 1):
        new = [add(tree, len(before) + i, len(before) + i + 1) for i in range(n_new)]
        before += new
        blocks = [add(tree, 0, len(before), made_of([*blocks, *new], tree))]
        assert leaves(blocks[0], tree) == before
        assert tree[blocks[0]].level <= 2 + math.log2(number)


def test_a_thousand_merges_are_made_of_few_each() -> None:
    tree: Tree = {}
    block = add(tree, 0, 1)
    widths = []
    for number in range(1, 1_000):
        children = made_of([block, add(tree, number, number + 1)], tree)
        widths.append(len(children))
        block = add(tree, 0, number + 1, children)
    assert tree[block].level <= 11
    assert sum(widths) / len(widths) < 8


def test_a_summary_whose_parts_are_gone_is_taken_as_it_is() -> None:
    tree: Tree = {}
    first, second, third = (add(tree, n, n + 1) for n in range(3))
    merged = add(tree, 0, 2, (first, second))
    assert made_of([merged, third], tree) == (first, second, third)
    del tree[second]
    assert made_of([merged, third], tree) == (merged, third)
