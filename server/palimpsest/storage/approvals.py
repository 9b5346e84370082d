"""The approval rules of one folder, made by the user's answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from palimpsest.domain.approvals import Answer, Rule
from palimpsest.storage import sql


@dataclass(frozen=True, slots=True)
class KeptRule:
    number: int
    """Identifies the rule for as long as it is kept; never used again."""
    rule: Rule
    created_at: str


def keep(rule: Rule, now: str) -> None:
    """Stores the rule in the place of an earlier one about the same calls."""
    words = json.dumps(rule.words, ensure_ascii=False)
    sql.execute("DELETE FROM approval_rule WHERE tool = ? AND words = ?", rule.tool, words)
    sql.execute(
        "INSERT INTO approval_rule (tool, words, answer, created_at) VALUES (?, ?, ?, ?)",
        rule.tool,
        words,
        rule.answer.value,
        now,
    )


def revoke(number: int) -> bool:
    """Removes a rule. False when there is no such rule."""
    found = list(sql.execute("SELECT 1 FROM approval_rule WHERE number = ?", number))
    sql.execute("DELETE FROM approval_rule WHERE number = ?", number)
    return bool(found)


def rules() -> list[KeptRule]:
    """The rules, oldest first."""
    found = sql.execute("SELECT number, tool, words, answer, created_at FROM approval_rule ORDER BY number")
    return [
        KeptRule(number, Rule(tool, tuple(json.loads(words)), _answer(answer)), created_at)
        for number, tool, words, answer, created_at in found
    ]


def _answer(text: str) -> Literal[Answer.ALWAYS, Answer.NEVER]:
    return Answer.ALWAYS if text == Answer.ALWAYS else Answer.NEVER
