"""Settings as the rest reads them: one value, checked, with the defaults of DESIGN §11."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from palimpsest.domain.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class ContextSettings:
    threshold: float = 0.80
    """Share of the budget at which a new cut is chosen."""
    target: float = 0.50
    """Share of the budget a cut by threshold aims at."""
    switch_target: float = 0.60
    """Share of the budget a cut after a model switch aims at."""
    preserve_recent: int = 4
    """Newest messages that are always sent verbatim, widened to whole exchanges."""
    max_tokens: int = 0
    """A cap on the budget; 0 means none."""
    output_limit: int | None = None
    """Tokens kept for an answer; None: what the model can give."""
    target_ratio: float = 0.15
    """A summary aims at this share of the originals' tokens."""
    response_max_bytes: int = 32_768
    """A tool result above this is shown as a preview; the whole is kept."""

    def __post_init__(self) -> None:
        if not 0 < self.target < self.threshold <= 1:
            raise InvalidRequest(
                f"context.target ({self.target}) must be above 0 and below context.threshold ({self.threshold}), "
                "which is at most 1."
            )
        if self.preserve_recent < 1 or self.max_tokens < 0 or self.response_max_bytes < 1:
            raise InvalidRequest(
                "context.preserve_recent and tools.response_max_bytes must be at least 1, "
                "and context.max_tokens at least 0."
            )
        if self.output_limit is not None and self.output_limit < 1:
            raise InvalidRequest("context.output_limit must be at least 1 token.")


@dataclass(frozen=True, slots=True)
class Settings:
    model: str | None = None
    """The model of new conversations; None: the first that can be used."""
    context: ContextSettings = ContextSettings()
    synchronous: Literal["NORMAL", "FULL"] = "NORMAL"
    """FULL also survives a power cut, at the price of slower writes."""
