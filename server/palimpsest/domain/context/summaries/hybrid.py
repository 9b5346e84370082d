"""A hybrid summary: a page of the notebook, exact, and behind it what a model wrote of the same messages.

Models lose most exact names of a long text; the page quotes them, each in a line of its message.
"""

from __future__ import annotations

import re
from typing import Final

CONVERSATION: Final = "Conversation Summary"
PAGE_SHARE: Final = 0.45
"""Of the target: what the page takes; the rest is for the prose."""
_HEADING = re.compile(r"^#{1,2}(?= )", re.M)


def hybrid_text(page: str, prose: str) -> str:
    """The page with the prose behind it. Headings in the prose do not pass for ours, whatever breaks a line in it."""
    lines = "\n".join(prose.strip().splitlines())
    return f"{page}\n\n## {CONVERSATION}\n{_HEADING.sub('###', lines)}"
