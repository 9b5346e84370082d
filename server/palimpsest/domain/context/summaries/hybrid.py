"""A hybrid summary: a page of the notebook, exact, and behind it a short text by a model about the same messages.

Models lose most exact names of a long text; the page quotes them, each in a line of its message. A model tells the
reasons, which no line tells.
"""

from __future__ import annotations

import re
from typing import Final

CONVERSATION: Final = "Conversation Summary"
PROSE_SHARE, PROSE_OF_BUDGET = 0.10, 0.03
"""The most that a text by a model may take: a share of the page in front of it, and, with those of the other blocks, a
share of the budget, about what the threshold leaves free. A page is as long as it would be without prose."""
BESIDE_PAGE: Final = (
    "A record of each call, its outcome and the exact names stands beside your text. Write what that cannot say: what "
    "was wanted, why it was done so, what was given up and why, and what is open."
)
"""What the model is told beside the usual instructions."""
_BETWEEN: Final = f"\n\n## {CONVERSATION}\n"
_HEADING = re.compile(r"^#{1,2}(?= )", re.M)


def hybrid_text(page: str, prose: str) -> str:
    """The page with the prose behind it. Headings in the prose do not pass for ours, whatever breaks a line in it."""
    lines = "\n".join(prose.strip().splitlines())
    return f"{page}{_BETWEEN}{_HEADING.sub('###', lines)}"


def split_prose(text: str) -> tuple[str, str]:
    """The page of a hybrid summary's text, and the prose with its heading; where there is none, all of it is a page."""
    at = text.rfind(_BETWEEN)
    return (text[:at], text[at:]) if at >= 0 else (text, "")
