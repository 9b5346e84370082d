"""Secrets by their form, taken out of text before a model's service sees it.

Only what has the form of a key of a known service, a private key, a password in an address or an `Authorization` header
is taken: nothing is judged by how random it looks, because hashes, ids and encoded images are not secrets. A pure
function of the text, so a message reads the same in every request. Each rule looks for a fixed word first and has no
unbounded choice behind it, so the time is linear in the text.

The forms are those of the services' own documents, 2026-11.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import Final, assert_never

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import (
    AttachmentPart,
    Content,
    OpaquePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

_REMEMBERED: Final = 8_192
"""Texts of which it is known that they hold no secret: a conversation sends the same ones with every request."""


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    """What stands in the placeholder."""
    words: tuple[str, ...]
    """One of them is in every match."""
    pattern: re.Pattern[str]
    """What it matches goes, but for the group `keep` at its start."""


def _key(name: str, words: str, form: str) -> _Rule:
    """A key that stands alone: not within a longer word, an id or a path, nor within base64."""
    found = re.compile(rf"(?<![A-Za-z0-9+/_-])(?P<keep>)(?:{form})(?![A-Za-z0-9+/_-])")
    return _Rule(name, tuple(words.split()), found)


_NO_EXAMPLE: Final = r"(?!(?:password|passwd|pass|pwd|pw|secret|token|changeme|example|x{3,}|\*+|\.+)(?:@|\b(?!\w)))"
"""What stands for a password in examples is none."""
_RULES: Final = (
    _Rule(
        "private key",
        ("PRIVATE KEY",),
        re.compile(
            r"(?P<keep>)-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:\\[nr]|\s)*+"
            r"(?:[A-Za-z-]{1,30}: [^\n\\]{0,200}(?:\\[nr]|\s)++){0,4}"
            r"(?:[A-Za-z0-9+/=]{16,}+(?:\\[nr]|[\s\"',])*+)++"
            r"(?:[A-Za-z0-9+/=]{0,15}(?:\\[nr]|\s)*+(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----|\Z))?"
        ),
    ),
    _key("Anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,300}"),
    _key("OpenRouter key", "sk-or-", r"sk-or-v\d-[A-Za-z0-9]{32,100}"),
    _key("OpenAI key", "sk-", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,300}|sk-[A-Za-z0-9]{32,100}"),
    _key("Google API key", "AIza", r"AIza[A-Za-z0-9_-]{35}"),
    _key("Google client secret", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{20,60}"),
    _key("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,255}"),
    _key("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{40,255}"),
    _key("GitLab token", "glpat-", r"glpat-[A-Za-z0-9_.-]{20,300}"),
    _key("AWS access key", "AKIA ASIA", r"A(?:KI|SI)A[A-Z2-7]{16}"),
    _Rule(
        "AWS secret key",
        ("secret_access_key", "SECRET_ACCESS_KEY", "SecretAccessKey"),
        re.compile(
            r"(?P<keep>(?:secret_access_key|SECRET_ACCESS_KEY|SecretAccessKey)[\"']?\s{0,9}[=:]\s{0,9}[\"']?)"
            r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"
        ),
    ),
    _key("Slack token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{20,300}"),
    _key("Slack token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,300}"),
    _key("Stripe key", "_live_", r"[rs]k_live_[A-Za-z0-9]{20,255}"),
    _key("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _key("PyPI token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{50,1000}"),
    _key("Hugging Face token", "hf_", r"hf_[A-Za-z]{34}"),
    _key("SendGrid key", "SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _Rule(
        "password",
        ("://",),
        re.compile(
            r"(?P<keep>://[^\s/:@\"'<>`\\]{0,100}:)"
            + _NO_EXAMPLE
            + r"[^\s/:@\"'<>`\\{}$%\[\]()]{4,200}(?=@[A-Za-z0-9\[])"
        ),
    ),
    _Rule(
        "authorization",
        ("uthorization", "UTHORIZATION"),
        re.compile(
            r"(?P<keep>(?i:authorization[\"']?\s{0,9}[:=,]\s{0,9}[\"']?(?:bearer|basic|token)\s{1,9}))"
            r"[A-Za-z0-9._~+/=-]{20,4000}"
        ),
    ),
)


_without_secrets: Final[set[bytes]] = set()
"""Digests."""


def redact(text: str) -> str:
    """The text with a placeholder such as `[redacted: AWS access key]` for each secret; the same object without one.

    Placeholders hold no quote and no backslash, so what was JSON stays JSON. Of what was asked only digests are kept:
    what is purged, or a secret, must not stay in memory.
    """
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if digest in _without_secrets:
        return text
    redacted = text
    for rule in _RULES:
        if any(word in redacted for word in rule.words):
            redacted = rule.pattern.sub(rf"\g<keep>[redacted: {rule.name}]", redacted)
    if redacted != text:
        return redacted
    if len(_without_secrets) >= _REMEMBERED:
        _without_secrets.clear()
    _without_secrets.add(digest)
    return text


def redact_content(content: Content) -> Content:
    """The same message without secrets; the same object where there are none."""
    parts = tuple(map(_redact_part, content.parts))
    return content if parts == content.parts else replace(content, parts=parts)


def redact_context(context: PreparedContext) -> PreparedContext:
    """The same request without secrets. What was proven of it holds: a placeholder is shorter than what it replaces,
    or a few tokens, which the buffer below the limit is for."""
    segments = tuple(
        replace(segment, contents=tuple(map(redact_content, segment.contents))) for segment in context.segments
    )
    return replace(context, system=redact(context.system), segments=segments)


def _redact_part(part: Part) -> Part:
    match part:
        case TextPart() | ReasoningPart() | ToolResultPart():
            return replace(part, text=redact(part.text))
        case ToolCallPart():
            return replace(part, arguments=redact(part.arguments))
        case AttachmentPart():
            return replace(part, label=redact(part.label), text=redact(part.text))
        case OpaquePart():
            return part  # a service takes it back as it was, or not at all
        case _:
            assert_never(part)
