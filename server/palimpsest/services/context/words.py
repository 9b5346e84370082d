"""The words in which reports about a context speak to a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from palimpsest.domain.context.cut import CutCause
from palimpsest.domain.context.recall_report import LeftOutBecause
from palimpsest.domain.context.summaries.node import EXTRACTIVE, HYBRID, LLM

PARTS: Final[Mapping[str, str]] = {
    "system": "instructions",
    "pins": "your rules",
    "preview": "shortened result",
    "previews": "shortened results",
    "injection": "recalled",
    "injections": "recalled",
    "overhead": "added by the service",
}
"""By the type of a part, or by the kind under which it is counted, where that says too little by itself."""
WRITTEN: Final[Mapping[str, str]] = {EXTRACTIVE: "without a model", HYBRID: "partly by a model", LLM: "by a model"}
"""How a summary was written, by its kind."""
SUMMARIZED: Final[Mapping[str, str]] = {
    "tool_calls": "old tool calls",
    "threshold": "older messages",
    "goal_batch": "older summaries, put together",
    "manual": "what you chose",
    "leave_out": "older messages, left out",
    "distil": "older messages, left out",
    "previews": "the largest messages, shortened",
    "injections": "what was recalled earlier, left out",
}
"""What became smaller, by the strategy."""
BECAUSE: Final[Mapping[CutCause, str]] = {
    CutCause.FIRST: "the conversation began",
    CutCause.THRESHOLD: "it was too full",
    CutCause.MODEL: "another model was chosen",
    CutCause.USER: "you asked for it",
    CutCause.ROLLBACK: "messages were taken back or deleted",
    CutCause.FRAME: "instructions or tools changed",
    CutCause.LAYOUT: "it is chosen anew for each message",
    CutCause.UNDO: "you undid a change",
    CutCause.REDO: "you redid a change",
}
"""Why a context changed, behind "because"."""
NOT_RECALLED: Final[Mapping[LeftOutBecause, str]] = {
    LeftOutBecause.TOLD: "it is there already",
    LeftOutBecause.NO_ROOM: "no room",
    LeftOutBecause.BELOW_BAR: "too little to do with it, or too little new",
}
