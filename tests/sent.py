"""A request for steps of which a test needs no other."""

from __future__ import annotations

from palimpsest.domain.context.request_layout import Frame
from palimpsest.domain.context.sent_request import Outline, SentRequest
from palimpsest.domain.messages import Digest

NOTHING = SentRequest(
    frame=Frame("", ()),
    cut_version=0,
    outline=Outline(has_front=False, entries=()),
    n_known_pieces=0,
    is_redacted=False,
    tool_choice="auto",
    upper_tokens=10,
    limit_tokens=10,
    max_output_tokens=1,
    window_tokens=11,
    digest=Digest("0" * 64),
)
"""A request that holds nothing."""
