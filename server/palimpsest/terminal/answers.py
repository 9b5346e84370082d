"""What a line that was typed means as an answer to the question whether a tool may run."""

from __future__ import annotations

from typing import Final

from palimpsest.wire.areas.tools import ApprovalAnswer, ApprovalRequestParams

READING_S: Final = 0.5
"""No question is read in less, in seconds: what is entered before that was meant for something else."""
_ANSWERS: Final = {
    "y": ApprovalAnswer.ONCE,
    "yes": ApprovalAnswer.ONCE,
    "a": ApprovalAnswer.ALWAYS,
    "always": ApprovalAnswer.ALWAYS,
    "n": ApprovalAnswer.DENY,
    "no": ApprovalAnswer.DENY,
    "!": ApprovalAnswer.NEVER,
    "never": ApprovalAnswer.NEVER,
}


def answer_of(line: str, asked: ApprovalRequestParams) -> ApprovalAnswer | None:
    """The answer; None when the line is none. `always` is one only where it may be given."""
    answer = _ANSWERS.get(line.strip().lower())
    return None if answer is ApprovalAnswer.ALWAYS and not asked.may_be_always else answer
