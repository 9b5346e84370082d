"""What one wire format is to the fake: five of them stand beside this file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, Protocol

from palimpsest_clients.fake.replies import Heard, Reply, Usage
from palimpsest_clients.fake.service import Asked, Refusal


class Dialect(Protocol):
    """Stateless. Bodies have the right shape or raise LookupError, TypeError, AttributeError, ValueError."""

    @property
    def name(self) -> str: ...

    @property
    def content_type(self) -> str:
        """Of a stream."""
        ...

    @property
    def status_without_key(self) -> int:
        """The status of a refusal for want of a key."""
        ...

    @property
    def streams_unasked(self) -> bool:
        """Whether an answer is a stream where the request does not say."""
        ...

    def speaks(self, asked: Asked) -> bool:
        """Whether the address is one of this format."""
        ...

    def has_key(self, headers: Mapping[str, str]) -> bool:
        """Whether a key stands where this format wants it, or none is wanted."""
        ...

    def is_streamed(self, asked: Asked) -> bool:
        """Whether an answer is asked for, as a stream; otherwise `told` has what is answered."""
        ...

    def check(self, asked: Asked) -> None:
        """Raises Refusal when a rule of the service is broken."""
        ...

    def told(self, asked: Asked, n_tokens: int, limit_tokens: int) -> Any:
        """Lists of models and counts of tokens. None: there is nothing at this address."""
        ...

    def error(self, status: int, message: str, code: str | None = None) -> Any:
        """The body of a refusal."""
        ...

    def too_long(self, n_tokens: int, limit_tokens: int) -> Any:
        """The body of a refusal with status 400."""
        ...

    def stream_error(self) -> bytes:
        """What the service sends when it fails in the middle of an answer."""
        ...

    def heard(self, body: Any) -> Heard: ...

    def events(self, body: Any, usage: Usage, reply: Reply) -> Iterator[bytes]:
        """The whole stream."""
        ...


def refuse(dialect: Dialect, message: str, *, status: int = 400, code: str | None = None) -> NoReturn:
    raise Refusal(status, dialect.error(status, message, code))


def texts(content: Any) -> str:
    """The text of a message's content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content or () if isinstance(block.get("text"), str))
