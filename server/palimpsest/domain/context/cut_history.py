"""The versions of a cut as a person walks through them: back by undo, forward by redo.

Every change of a cut is a version of its own, also an undo; versions are never changed. What they mean to a person
follows from their causes alone. A roll back is where walking back ends: what stood before it holds hidden messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.messages import MessageId, SummaryId

Ranges = tuple[tuple[MessageId, MessageId], ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands for the history in one version, beside live messages."""

    blocks: tuple[SummaryId, ...] = ()
    left_out: Ranges = ()


@dataclass(slots=True)
class CutHistory:
    """Where a person is among the versions."""

    done: list[Standing] = field(default_factory=lambda: [Standing()])
    """What stood, oldest first, each unlike the one before; the last is what stands now."""
    undone: list[Standing] = field(default_factory=list)
    """What was walked back from; the last is what a redo brings."""
    ends_at_roll_back: bool = False
    """Whether there were others before the first."""

    @classmethod
    def of(cls, versions: Iterable[tuple[CutCause, Standing]]) -> CutHistory:
        """Of the stored versions, oldest first."""
        history = cls()
        for cause, standing in versions:
            history._add(cause, standing)
        return history

    def _add(self, cause: CutCause, standing: Standing) -> None:
        if cause is CutCause.ROLLBACK:
            self.done, self.undone, self.ends_at_roll_back = [standing], [], True
        elif cause is CutCause.UNDO and len(self.done) > 1:
            self.undone.append(self.done.pop())
            self.done[-1] = standing
        elif cause is CutCause.REDO and self.undone:
            self.undone.pop()
            self.done.append(standing)
        elif standing != self.done[-1]:
            self.done.append(standing)
            self.undone.clear()
