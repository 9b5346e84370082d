"""From a service's refusal (status, code and words) to one `ProviderError`. No I/O.

The error never quotes the service. Services echo what they were sent (parts of the key, the whole invalid message), and
errors end up in logs and editors. The error keeps the status, the code if it looks like a code, and numbers. The words
only tell the kinds apart where a service has no code for them.

The wordings are from the services' documentation and issue trackers, 2026-11.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final

from palimpsest.domain.errors import ErrorDetail, ErrorKind, ProviderError
from palimpsest.domain.models.providers import BY_NAME
from palimpsest.domain.turns.answers import token_count

RETRYABLE: Final = frozenset({ErrorKind.RATE_LIMITED, ErrorKind.OVERLOADED, ErrorKind.NETWORK})
"""Kinds that may go away by themselves."""

_READ_CHARS: Final = 4000
"""The characters of a service's message that are read: what matters is at the beginning, and patterns are tried at
every position."""
_MOST_DIGITS: Final = 9
_LONGEST_RETRY_AFTER_S: Final = 30 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class _Rule:
    """One kind of refusal. A refusal is of this kind when its status, its code or its words fit; the first rule that
    fits counts."""

    kind: ErrorKind
    statuses: frozenset[int] = frozenset()
    code: str = r"(?!)"
    words: str = r"(?!)"
    sentence: str = ""
    """The sentence to use instead of that of the kind; `{model}` is replaced by the model."""

    def fits(self, status: int | None, codes: str, message: str) -> bool:
        found = re.search(self.code, codes, re.I) or re.search(self.words, message, re.I)
        return status in self.statuses or found is not None


# The rules of context and quota come first, because services report both under any of 400, 403 and 429.
_RULES: Final = (
    _Rule(
        ErrorKind.CONTEXT_TOO_LONG,
        frozenset({413}),
        r"context_length_exceeded|exceed_context_size|request_too_large",
        r"prompt is too long|input is too long|^request too large|maximum (?:context|prompt) length"
        r"|exceeds? (?:the |your )?(?:\w+ )?context (?:limit|window|size|length)"
        r"|input tokens? (?:count.{0,40})?exceeds?|exceeded model token limit|context the overflows",
    ),
    _Rule(
        ErrorKind.QUOTA,
        frozenset({402}),
        r"billing|insufficient_(?:quota|balance|credits)|spend_limit|PerDay",
        r"credit balance is too low|insufficient (?:account )?(?:balance|credits?|quota)|please enable billing",
    ),
    _Rule(
        ErrorKind.FILTERED,
        frozenset({451}),
        r"content_filter|content_policy|policy_violation|bio_policy|invalid_prompt|responsibleaipolicy|moderation"
        r"|data_inspection",
        r"content (?:filtering|management) policy|content policy|input was flagged",
    ),
    _Rule(
        ErrorKind.AUTH,
        frozenset({401, 403, 407}),
        r"authentication|permission|invalid_api_key|api_key_invalid|unauthenticated",
        r"api key not valid|invalid api key",
    ),
    _Rule(ErrorKind.RATE_LIMITED, frozenset({429}), r"rate_limit|resource_exhausted|too_many_requests"),
    _Rule(
        ErrorKind.OVERLOADED,
        words=r"requires more system memory|\bout of memory\b|insufficient memory|failed to allocate",
        sentence="There is not enough memory to run {model}. Choose a smaller model, or set a smaller window for it.",
    ),
    _Rule(
        ErrorKind.BAD_RESPONSE,
        words=r"does not support tools",
        sentence="{model} cannot use tools, and this conversation offers it some. Choose a model that can.",
    ),
    # 409: a lock was not acquired in time.
    _Rule(
        ErrorKind.OVERLOADED,
        frozenset({409, 425}) | frozenset(range(500, 600)),
        r"overloaded|\bserver_error|\bapi_error|\binternal(?:_server)?_error\b|unavailable|timeout",
        r"model runner has unexpectedly stopped|runner process (?:has terminated|no longer running)"
        r"|maximum pending requests|timed out waiting for .{0,40}runner|^(?:unexpected )?EOF$"
        r"|(?:running the model|/completion|predict)\b.{0,200}(?:\bEOF\b|connection (?:reset|refused))",
    ),
    _Rule(ErrorKind.NETWORK, frozenset({408})),
)
_OTHERWISE: Final = _Rule(ErrorKind.BAD_RESPONSE)

_LIMIT: Final = (
    r"> ?([\d,]+) maximum",
    r"context limit: .*> ?([\d,]+)",
    r"maximum (?:context|prompt) length (?:is|of) ([\d,]+)",
    r"with ([\d,]+) maximum context length",
    r"context (?:size|length) (?:\(|of only )([\d,]+)",
    r"limit of ([\d,]+) tokens",
    r"tokens allowed \(?([\d,]+)",
    r"model token limit: ([\d,]+)",
    r"limit ([\d,]+), requested",
)
_PROJECTED: Final = (
    r"too long: ([\d,]+) tokens",
    r"(?:requested|resulted in|contains|request has)(?: about)? ([\d,]+)",
    r"request \(([\d,]+) tokens\) exceeds",
    r"token count \(([\d,]+)\)",
    r"requested ([\d,]+)",
)
_SUM: Final = r"context limit: ([\d,]+) \+ ([\d,]+)"


def from_answer(
    provider: str,
    model: str,
    status: int | None,
    body: Any,
    headers: Mapping[str, str] | None = None,
    *,
    has_key: bool = True,
) -> ProviderError:
    """The error for a service's answer. `has_key`: whether the request had a key.

    `status` is None for an error inside a stream that began with 200. `body` is the decoded JSON, or the text when it
    was not JSON. Every status and every body give an error.
    """
    error = _error_object(body)
    message = str(error.get("message") or "")[:_READ_CHARS]
    if status is None and re.fullmatch(r"[45]\d\d", str(error.get("code"))):  # a number, or a string that contains one
        status = int(error["code"])
    details = _details(error)
    named = [each.get(name) for each in details for name in ("error_code", "reason", "quotaId")]
    codes = [
        str(code)[:_READ_CHARS] for code in (*named, error.get("code"), error.get("type"), error.get("status")) if code
    ]
    rule = next((rule for rule in _RULES if rule.fits(status, " ".join(codes), message)), _OTHERWISE)
    kind = rule.kind
    limit, projected = _numbers(error, message) if kind is ErrorKind.CONTEXT_TOO_LONG else (None, None)
    headers = headers or {}
    detail = ErrorDetail(provider, model, _retry_after_ms(headers, details), limit, projected)
    known = [
        f"HTTP {status}" if status else "",
        next((code for code in codes if re.fullmatch(r"[A-Za-z_]{3,48}", code)), ""),
    ]
    facts = ", ".join(fact for fact in known if fact)
    says_retry = headers.get("x-should-retry")
    is_retryable = says_retry == "true" if says_retry in ("true", "false") else kind in RETRYABLE
    sentence = rule.sentence.format(model=model) or _sentence(kind, provider, detail, status, has_key=has_key)
    return ProviderError(kind, f"{sentence} ({facts})" if facts else sentence, detail, is_retryable=is_retryable)


def request_id(headers: Mapping[str, str]) -> str:
    """The service's id of the request, for its support and for the log; empty when the header holds nothing like an
    id."""
    told = headers.get("request-id") or headers.get("x-request-id") or ""
    return told if re.fullmatch(r"[\w-]{1,80}", told) else ""


def reason_to_wait(provider: str, kind: ErrorKind) -> str:
    """Why a call is repeated after a pause, as a sentence for the user."""
    title = BY_NAME[provider].title if provider in BY_NAME else provider
    match kind:
        case ErrorKind.RATE_LIMITED:
            return f"Too many requests to {title}."
        case ErrorKind.OVERLOADED:
            return f"{title} is overloaded."
        case ErrorKind.NETWORK:
            return f"No connection to {title}."
        case _:
            return f"{title} could not answer."


def failure(
    provider: str, model: str, kind: ErrorKind, what: str, *, is_retryable: bool | None = None
) -> ProviderError:
    """An error without an answer. `what` completes the sentence that begins with the provider. `is_retryable` None:
    it depends on the kind."""
    worth_it = kind in RETRYABLE if is_retryable is None else is_retryable
    return ProviderError(kind, f"{provider} {what}.", ErrorDetail(provider, model), is_retryable=worth_it)


def _error_object(body: Any) -> Mapping[str, Any]:
    """The innermost object that describes the error, however the service wraps it."""
    if isinstance(body, list) and body:
        body = body[0]
    if isinstance(body, Mapping):
        body = body.get("error", body)
    if isinstance(body, Mapping):
        return body
    return {"message": body} if isinstance(body, str) else {}


def _details(error: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The details of an error: one object, or Google's list of objects, some of which contain a list."""
    told = error.get("details")
    found = [each for each in (told if isinstance(told, list) else [told]) if isinstance(each, Mapping)]
    lists = [each["violations"] for each in found if isinstance(each.get("violations"), list)]
    return found + [each for violations in lists for each in violations if isinstance(each, Mapping)]


def _numbers(error: Mapping[str, Any], message: str) -> tuple[int | None, int | None]:
    """The limit and the size of the request in tokens, each None when the service did not tell it. A size within the
    limit counts as not told."""
    limit, projected = _count(error.get("n_ctx")), _count(error.get("n_prompt_tokens"))
    if found := re.search(_SUM, message, re.I):
        projected = sum(int(number.replace(",", "")[:_MOST_DIGITS] or 0) for number in found.groups())
    limit = limit or _first_number(_LIMIT, message)
    projected = projected or _first_number(_PROJECTED, message)
    if limit is not None and projected is not None and projected <= limit:
        projected = None
    return limit, projected


def _count(value: object) -> int | None:
    return token_count(value) or None


def _first_number(patterns: tuple[str, ...], message: str) -> int | None:
    for pattern in patterns:
        if (found := re.search(pattern, message, re.I)) and (digits := found[1].replace(",", "")):
            return int(digits[:_MOST_DIGITS])
    return None


def _retry_after_ms(headers: Mapping[str, str], details: Sequence[Mapping[str, Any]]) -> int | None:
    """The milliseconds to wait, from `retry-after-ms`, from `retry-after` (seconds or a date), or from Google's
    `retryDelay`; None when the service tells nothing usable.

    The LiteLLM proxy passes the headers of its upstream on under other names.
    """
    delays = (re.fullmatch(r"(\d{1,9}(?:\.\d+)?)s", str(each.get("retryDelay"))) for each in details)
    try:
        if said := headers.get("retry-after-ms"):
            seconds = float(said) / 1000
        elif said := headers.get("retry-after") or headers.get("llm_provider-retry-after"):
            seconds = float(said) if re.fullmatch(r"[\d.]+", said.strip()) else _seconds_until(said)
        elif delay := next(filter(None, delays), None):
            seconds = float(delay[1])
        else:
            return None
    except (ValueError, TypeError, OverflowError):
        return None
    if not math.isfinite(seconds):
        return None
    return int(min(max(seconds, 0.0), _LONGEST_RETRY_AFTER_S) * 1000)


def _seconds_until(date: str) -> float:
    return parsedate_to_datetime(date).timestamp() - time.time()


def _sentence(kind: ErrorKind, provider: str, detail: ErrorDetail, status: int | None, *, has_key: bool) -> str:
    model = detail.model
    match kind:
        case ErrorKind.CONTEXT_TOO_LONG if detail.limit_tokens and detail.projected_tokens:
            return f"{model} takes {detail.limit_tokens} tokens, but the request has {detail.projected_tokens}."
        case ErrorKind.CONTEXT_TOO_LONG:
            return f"The request is too long for {model}."
        case ErrorKind.QUOTA:
            return f"The account at {provider} has no credit or quota left. Check its billing page."
        case ErrorKind.FILTERED:
            return f"{provider} refused the request because of its content rules."
        case ErrorKind.AUTH if status == 401 and not has_key:
            return f"{provider} asks for a key, and none is known. Give one with `palimpsest login {provider}`."
        case ErrorKind.AUTH if not model:
            return f"{provider} did not accept the key. Check the key."
        case ErrorKind.AUTH:
            return f"{provider} did not accept the key. Check the key, and that it may use {model}."
        case ErrorKind.RATE_LIMITED:
            when = f"in {math.ceil(detail.retry_after_ms / 1000)} s" if detail.retry_after_ms else "in a little while"
            return f"{provider} received more than this account may send for now. Try again {when}."
        case ErrorKind.OVERLOADED:
            return f"{provider} is overloaded or out of order at the moment. Try again later."
        case ErrorKind.NETWORK:
            return f"{provider} gave up waiting for the request. Try again."
        case _ if status == 404 and not model:
            return f"{provider} has nothing at this place. Check its base address."
        case _ if status == 404 and provider == "ollama":
            return f"ollama has no model {model}. Get it with `ollama pull {model}`, or check the base address."
        case _ if status == 404:
            return f"{provider} has no model {model}, or its base address is wrong."
        case _ if status is not None and 300 <= status < 400:
            return f"{provider} answered with a redirect. Check its base address."
        case _:
            return f"{provider} could not make sense of the request, or answered with something unexpected."
