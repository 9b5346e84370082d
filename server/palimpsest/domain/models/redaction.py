"""Removal of secrets from text before a model's service gets it.

Only text in the form of a known service's key, a private key, a password in an address or an `Authorization` header is
removed. Randomness is no criterion, because hashes, ids and encoded images are not secrets. The result depends on the
text alone, so a message is the same in every request. Each rule searches for a fixed word first and has no unbounded
choice after it, so the time is linear in the text. Text with escapes (`escapes`) is searched as what it stands for too.

The forms are from the services' own documents, 2026-11.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import Content, map_texts
from palimpsest.domain.models.escapes import replaced

_REMEMBERED: Final = 8_192
"""The number of texts remembered to hold no secret: a conversation sends the same texts with every request."""


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    """The name in the placeholder."""
    words: tuple[str, ...]
    """Each match contains one of them."""
    pattern: re.Pattern[str]
    """The match is replaced, except for the group `keep` at its start."""


_BEFORE: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
"""In front of a key: the end of a line in JSON ends with a letter."""


def _key(name: str, words: str, form: str) -> _Rule:
    """The rule for a key that is not inside a longer word."""
    found = re.compile(rf"{_BEFORE}(?P<keep>)(?:{form})(?![A-Za-z0-9])")
    return _Rule(name, tuple(words.split()), found)


def _wrapped(word: str, form: str, n: int) -> str:
    """A key of `n` characters behind the word, of which the end is on the next line."""
    rest = rf"(?=(?:{form}(?:\r?\n[ \t]{{0,20}}+)?+){{{n - 1}}}{form}(?!{form}))"
    return rf"{word}{rest}{form}{{6,{n}}}+\r?\n[ \t]{{0,20}}+{form}{{1,{n}}}+"


_NO_EXAMPLE: Final = r"(?!(?:password|passwd|pass|pwd|pw|secret|token|changeme|example|x{3,}|\*+|\.+)(?:@|\b(?!\w)))"
"""Excludes the usual placeholders for passwords in examples."""
_DIGIT: Final = r"(?:[A-Za-z0-9+/=]|\\{1,8}/)"
"""Of base64, also as JSON writes it."""
_FILLING: Final = rf"(?:(?!{_DIGIT}{{40}})(?!-----)[\s\S])"
"""What stands between the lines of a key: the marks of a comment, a quotation or a difference, numbers, names of
files."""
_PRIVATE_KEY: Final = (
    r"(?P<keep>)-----BEGIN[ +][A-Z0-9 +]{0,30}PRIVATE[ +]KEY(?:[ +]BLOCK)?-----(?:\\{1,8}[nr]|\s)*+"
    r"(?:[A-Za-z-]{1,30}: [^\n\\]{0,200}(?:\\{1,8}[nr]|\s)++){0,4}"
    rf"(?:{_DIGIT}{{16,}}+(?:\\{{1,8}}[nr]|[\s\"',])*+|{_FILLING}{{0,80}}+{_DIGIT}{{40,}}+)++"
    rf"(?:{_FILLING}{{0,160}}+-----END[ +][A-Z0-9 +]{{0,30}}PRIVATE[ +]KEY(?:[ +]BLOCK)?-----"
    # The text may still grow.
    rf"|(?:[\W\d]|\\{{1,8}}[nr]){{0,20}}+{_DIGIT}{{0,39}}+(?:\\{{1,8}}[nr]|[^\w-]){{0,20}}+"
    r"(?:-{1,4}|-----(?:E(?:ND?)?|END[ +][A-Z0-9 +]{0,45}-{0,4})?)?\Z)?"
)
_RULES: Final = (
    _Rule("private key", ("PRIVATE KEY", "PRIVATE+KEY"), re.compile(_PRIVATE_KEY)),
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
            r"(?P<keep>(?:secret_access_key|SECRET_ACCESS_KEY|SecretAccessKey)"
            r"\\{0,8}[\"']?\s{0,9}[=:]\s{0,9}\\{0,8}[\"']?)"
            r"[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"
        ),
    ),
    _key("Slack token", "xox", r"xox[abeoprs]-[A-Za-z0-9-]{20,300}"),
    _key("Slack token", "xapp-", r"xapp-\d-[A-Za-z0-9-]{20,300}"),
    _key("Stripe key", "_live_", r"[rs]k_live_[A-Za-z0-9]{20,255}"),
    _key("npm token", "npm_", r"npm_[A-Za-z0-9]{36}"),
    _key("PyPI token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{50,1000}"),
    _key("Hugging Face token", "hf_", r"hf_[A-Za-z]{34}"),
    _key("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", _wrapped("gh[pousr]_", "[A-Za-z0-9]", 36)),
    _key("Google API key", "AIza", _wrapped("AIza", "[A-Za-z0-9_-]", 35)),
    _key("AWS access key", "AKIA ASIA", _wrapped("A(?:KI|SI)A", "[A-Z2-7]", 16)),
    _key("npm token", "npm_", _wrapped("npm_", "[A-Za-z0-9]", 36)),
    _key("Hugging Face token", "hf_", _wrapped("hf_", "[A-Za-z]", 34)),
    _key("SendGrid key", "SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _Rule(
        "password",
        ("://", ":\\/\\/"),
        re.compile(
            r"(?P<keep>:(?:\\?/){2}[^\s/:@\"'<>`\\]{0,100}:)"
            + _NO_EXAMPLE
            + r"[^\s/:@\"'<>`\\{}$%\[\]()](?:[^\s/\"'<>`\\{}$]|\$(?![{(])){3,200}(?=@[A-Za-z0-9\[])"
        ),
    ),
    _Rule(
        "authorization",
        ("uthorization", "UTHORIZATION"),
        re.compile(
            r"(?P<keep>(?i:authorization\\{0,8}[\"'`]?\s{0,9}(?:[:=,>]|=>)\s{0,9}"
            r"(?:\\{0,8}[\"'`]?value\\{0,8}[\"'`]?\s{0,9}[:=]\s{0,9})?\\{0,8}[\"'`]?(?:bearer|basic|token)[\s+]{1,9}))"
            r"(?:[A-Za-z0-9._~+/=-]{20,4000}|(?<=[bB]asic )[A-Za-z0-9+/]{8,20}={1,2})"
        ),
    ),
)
_HALF: Final = re.compile(
    _BEFORE + r"(?:sk-|AIza|GOCSPX-|gh[pousr]_|github_pat_|glpat-|A(?:KI|SI)A|xox[abeoprs]-|xapp-|[rs]k_live_|"
    r"npm_|pypi-AgE|hf_|SG\.)[A-Za-z0-9_.+/-]{8,1000}\Z"
    r"|(?:(?<=secret_access_key)|(?<=SECRET_ACCESS_KEY)|(?<=SecretAccessKey))"
    r"\\{0,8}[\"']?\s{0,9}[=:]\s{0,9}\\{0,8}[\"']?"
    r"[A-Za-z0-9/+]{8,40}\Z"
)
"""A key whose end is missing, long enough to be of use to somebody."""


_MOST_TIMES: Final = 5
"""How often text is searched again once something was replaced, which what was in front of it may have hidden."""
_without_secrets: Final[set[bytes]] = set()
"""The digests of texts without secrets."""


def redact(text: str) -> str:
    """The text with a placeholder such as `[redacted: AWS access key]` for each secret; the same object when there is
    none.

    Placeholders contain no quote and no backslash, so JSON stays JSON. Only digests of the texts are remembered: a
    secret, or purged text, must not stay in memory.
    """
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if digest in _without_secrets:
        return text
    redacted = _replaced_once(text)
    for _ in range(_MOST_TIMES if redacted != text else 0):
        if redacted == (again := _replaced_once(redacted)):
            break
        redacted = again
    if redacted != text:
        return redacted
    if len(_without_secrets) >= _REMEMBERED:
        _without_secrets.clear()
    _without_secrets.add(digest)
    return text


def _replaced_once(text: str) -> str:
    text = replaced(text, _secrets)
    for rule in _RULES:
        if any(word in text for word in rule.words):
            text = rule.pattern.sub(rf"\g<keep>[redacted: {rule.name}]", text)
    return text


def _secrets(text: str) -> Iterator[tuple[int, int, str]]:
    """(start, end, placeholder) of each secret."""
    for rule in _RULES:
        if any(word in text for word in rule.words):
            for match in rule.pattern.finditer(text):
                yield match.end("keep"), match.end(), f"[redacted: {rule.name}]"


def redact_broken_off(text: str) -> str:
    """As `redact`, of a text that broke off: also without the beginning of a key at its end."""
    return _HALF.sub("[redacted: half a key]", redact(text))


def redact_content(content: Content) -> Content:
    """The message without secrets; the same object when there are none."""
    return map_texts(content, redact)


def redact_context(context: PreparedContext) -> PreparedContext:
    """The request without secrets. The proof that it fits still holds: a placeholder is shorter than the secret, or a
    few tokens long, which the buffer below the limit allows for."""
    segments = tuple(
        segment._replace(contents=tuple(map(redact_content, segment.contents))) for segment in context.segments
    )
    return replace(context, system=redact(context.system), segments=segments)
