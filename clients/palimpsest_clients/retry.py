"""Which failed calls are repeated, and when."""

from __future__ import annotations

from dataclasses import dataclass

import tenacity

from palimpsest.domain.errors import ProviderError


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently a call is repeated. The caller makes sure that nothing of it was shown yet."""

    attempts: int = 4
    backoff_s: float = 0.5
    """The bound of the first random wait; it doubles with each attempt, up to 8 s."""
    max_retry_after_s: float = 60.0
    """The call fails at once when the service asks for a longer pause: nobody waits that long unasked."""

    def retrying(self) -> tenacity.AsyncRetrying:
        """The attempts of one call, with the pauses between them. The last failure is raised as it is."""
        backoff = tenacity.wait_random_exponential(multiplier=self.backoff_s, max=8)

        def is_worth_it(error: BaseException) -> bool:
            if not isinstance(error, ProviderError) or not error.is_retryable:
                return False
            return (_asked_wait_s(error) or 0) <= self.max_retry_after_s

        def wait_s(state: tenacity.RetryCallState) -> float:
            asked_s = _asked_wait_s(state.outcome.exception() if state.outcome else None)
            return backoff(state) if asked_s is None else asked_s

        return tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(self.attempts),
            wait=wait_s,
            retry=tenacity.retry_if_exception(is_worth_it),
            reraise=True,
        )


def _asked_wait_s(error: BaseException | None) -> float | None:
    asked_ms = error.detail.retry_after_ms if isinstance(error, ProviderError) else None
    return None if asked_ms is None else asked_ms / 1000
