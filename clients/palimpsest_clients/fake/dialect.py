"""The part of a wire format that the fake needs. Each format has a module beside this one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, Protocol

from palimpsest_clients.fake.replies import Heard, Reply, Usage
from palimpsest_clients.fake.service import Asked, Refusal


class Dialect(Protocol):
    """A stateless wire format. Its methods raise LookupError, TypeError, AttributeError or ValueError for a body of
    another shape."""

    @property
    def name(self) -> str: ...

    @property
    def content_type(self) -> str:
        """The content type of a stream."""
        ...

    @property
    def status_without_key(self) -> int:
        """The status of a refusal without a key."""
        ...

    @property
    def streams_unasked(self) -> bool:
        """Whether an answer is a stream when the request does not say."""
        ...

    def speaks(self, asked: Asked) -> bool:
        """Whether the address is one of this format."""
        ...

    def has_key(self, headers: Mapping[str, str]) -> bool:
        """Whether a key is where this format wants it, or the format wants none."""
        ...

    def is_streamed(self, asked: Asked) -> bool:
        """Whether the request asks for an answer, as a stream; otherwise `told` has the response."""
        ...

    def check(self, asked: Asked) -> None:
        """Raises Refusal for a request that breaks a rule of the service."""
        ...

    def told(self, asked: Asked, n_tokens: int, limit_tokens: int) -> Any:
        """The list of models or the count of tokens; None: there is nothing at this address."""
        ...

    def error(self, status: int, message: str, code: str | None = None) -> Any:
        """The body of a refusal."""
        ...

    def too_long(self, n_tokens: int, limit_tokens: int) -> Any:
        """The body of a refusal of a long request, whose status is 400."""
        ...

    def stream_error(self) -> bytes:
        """The event of a service that fails in the middle of an answer."""
        ...

    def heard(self, body: Any) -> Heard: ...

    def events(self, body: Any, usage: Usage, reply: Reply) -> Iterator[bytes]:
        """The whole stream of an answer."""
        ...


def refuse(dialect: Dialect, message: str, *, status: int = 400, code: str | None = None) -> NoReturn:
    raise Refusal(status, dialect.error(status, message, code))


def texts(content: Any) -> str:
    """The text of a message's content, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content or () if isinstance(block.get("text"), str))
