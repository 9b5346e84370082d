"""One connection with a server, as `services.mcp.connection` describes it, by the client of the official package.

The package's contexts run in a task of their own, because whoever leaves one of them with an error gets a group of
errors, and because an address that cannot be reached breaks them from the inside. So every end of a connection is
one sentence, and everything around it is ordinary.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import httpx2
import mcp_types as types
from jsonschema import SchemaError
from jsonschema.validators import validator_for
from mcp import Client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from palimpsest.__about__ import __version__
from palimpsest.domain import foreign_json
from palimpsest.domain.approvals import visible
from palimpsest.domain.mcp.config import ServerConfig
from palimpsest.domain.mcp.content import Answer, Block, Link, Media, MediaKind, Text
from palimpsest.domain.mcp.offered import (
    MAX_LISTED,
    DeclaredTool,
    Offer,
    OfferedPrompt,
    OfferedResource,
    PromptArgument,
    offered,
)
from palimpsest.domain.messages import canonical_json
from palimpsest.domain.tools import declaration_problem
from palimpsest.mcp_client.ending import Ending
from palimpsest.mcp_client.guard import Guard
from palimpsest.mcp_client.http import http
from palimpsest.mcp_client.stdio import stdio
from palimpsest.services.mcp.connection import McpFailure, Progress, PromptText

T = TypeVar("T")

_MAX_PAGES: Final = 100
MAX_JUDGED_CHARACTERS: Final = 256 * 1024
"""The most characters of the schemas of one server's tools together."""
_TOO_MANY: Final = f"with it, the parameters of this server's tools have more than {MAX_JUDGED_CHARACTERS:,} characters"
_LONGEST_MESSAGE: Final = 500
"""The most characters of a server's own error that a sentence quotes."""
_CHANGES: Final = (
    types.ToolListChangedNotification,
    types.ResourceListChangedNotification,
    types.PromptListChangedNotification,
)
_OVER: Final = ("Session terminated",)
"""What the package says of a session that a server over HTTP has forgotten."""

for _name in ("mcp", "client", "httpx2"):  # they log messages, which hold what people said
    logging.getLogger(_name).setLevel(logging.CRITICAL)


@contextlib.asynccontextmanager
async def connect(config: ServerConfig) -> AsyncIterator[SdkConnection]:
    """See `services.mcp.connection.Connect`."""
    ready = asyncio.get_running_loop().create_future()
    leaving = asyncio.Event()
    owner = asyncio.create_task(_own(config, ready, leaving), name=f"mcp {config.name}")
    try:
        waiting: set[asyncio.Future[Any]] = {ready, owner}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if owner.done():
            await owner  # raises McpFailure
        yield ready.result()
    finally:
        leaving.set()
        if not ready.done():
            owner.cancel()
        await asyncio.wait({owner})
        if not owner.cancelled():
            owner.exception()  # it has been told, or nobody asks any more


async def _own(config: ServerConfig, ready: asyncio.Future[SdkConnection], leaving: asyncio.Event) -> None:
    """Hold the package's contexts until they are to be left, or the connection ends: McpFailure."""
    guard, ending = Guard(), Ending()
    try:
        async with contextlib.AsyncExitStack() as stack:
            if config.command:
                streams = await stack.enter_async_context(stdio(config, guard, ending))
            else:
                streams = await stack.enter_async_context(http(config, guard, ending))
            connection = SdkConnection(config, guard, ending)
            await connection.enter(stack, streams)
            ready.set_result(connection)
            await _either(leaving, ending.has_come)
    except (McpFailure, asyncio.CancelledError):
        raise
    except BaseException as error:
        ending.end(_sentence(error, config))
        raise ending.failure() from None
    if ending.has_come.is_set():
        raise ending.failure()


async def _either(one: asyncio.Event, other: asyncio.Event) -> None:
    waiting = [asyncio.create_task(each.wait()) for each in (one, other)]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()


class SdkConnection:
    """See `services.mcp.connection.Connection`."""

    def __init__(self, config: ServerConfig, guard: Guard, ending: Ending) -> None:
        self._config, self._guard, self._ending = config, guard, ending
        self._client: Client | None = None
        self._news = asyncio.Event()

    async def enter(self, stack: contextlib.AsyncExitStack, streams: Any) -> None:
        client = Client(
            contextlib.nullcontext(streams),
            client_info=types.Implementation(name="palimpsest", version=__version__),
            message_handler=self._hear,
            cache=None,
        )
        self._client = await stack.enter_async_context(client)
        if client.session.initialize_result is None:  # since 2026-07-28 changes come to those that ask for them
            listening = asyncio.create_task(self._listen(client), name=f"mcp {self._config.name} news")
            stack.callback(listening.cancel)

    async def _hear(self, message: Any) -> None:
        if isinstance(message, _CHANGES):
            self._news.set()

    async def _listen(self, client: Client) -> None:
        with contextlib.suppress(MCPError, SubscriptionLost, TimeoutError, RuntimeError):
            listening = client.listen(tools_list_changed=True, prompts_list_changed=True, resources_list_changed=True)
            async with listening as events:
                async for _ in events:
                    self._news.set()

    async def changed(self) -> None:
        await _either(self._news, self._ending.has_come)
        if self._ending.has_come.is_set():
            raise self._ending.failure()
        self._news.clear()

    # ------------------------------------------------------------------------------------------------------ what it has

    async def offer(self) -> Offer:
        client, notes = self._client, list[str]()
        assert client is not None
        has = client.server_capabilities
        self._guard.bad_tools.clear()
        tools = await self._all(client.list_tools, "tools") if has.tools else []
        bad, self._guard.bad_tools = self._guard.bad_tools, []
        resources = await self._noted(client.list_resources, "resources", notes) if has.resources else []
        prompts = await self._noted(client.list_prompts, "prompts", notes) if has.prompts else []
        return await asyncio.to_thread(
            lambda: offered(
                self._config,
                [*_to_declared(self._config, tools), *bad],
                [OfferedResource(each.uri, each.title or each.name, each.description or "") for each in resources],
                [_to_prompt(each) for each in prompts],
                notes,
            )
        )

    async def _noted(self, list_page: Callable[..., Awaitable[Any]], name: str, notes: list[str]) -> list[Any]:
        """All of a list that the server can do without."""
        try:
            return await self._all(list_page, name)
        except McpFailure as failure:
            if failure.is_over:
                raise
            notes.append(f"Its {name} are left out: {failure}")
            return []

    async def _all(self, list_page: Callable[..., Awaitable[Any]], name: str) -> list[Any]:
        """The items of every page, as many as we may use."""
        found: list[Any] = []
        cursor, seen = None, set[str]()
        for _ in range(_MAX_PAGES):
            page = await self._asked(list_page(cursor=cursor))
            found += getattr(page, name)
            cursor = page.next_cursor
            if cursor is None or cursor in seen or len(found) > MAX_LISTED:
                break
            seen.add(cursor)
        return found

    # ----------------------------------------------------------------------------------------------------------- asking

    async def call(self, tool: str, arguments: Mapping[str, Any], tell: Progress) -> Answer:
        async def report(progress: float, total: float | None, message: str | None) -> None:
            of = "" if total is None else f" of {total:g}"
            tell(visible(f"{progress:g}{of} {message or ''}".strip())[:_LONGEST_MESSAGE])

        assert self._client is not None
        result = await self._asked(self._client.call_tool(tool, dict(arguments), progress_callback=report))
        blocks = tuple(_to_block(each) for each in result.content)
        if not blocks and result.structured_content is not None:
            blocks = (_structure(result.structured_content),)
        return Answer(blocks, bool(result.is_error))

    async def read(self, uri: str) -> tuple[Block, ...]:
        assert self._client is not None
        result = await self._asked(self._client.read_resource(uri))
        return tuple(_to_content(each) for each in result.contents)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> tuple[PromptText, ...]:
        assert self._client is not None
        result = await self._asked(self._client.get_prompt(name, dict(arguments)))
        return tuple(PromptText(each.role, (_to_block(each.content),)) for each in result.messages)

    async def _asked(self, request: Awaitable[T]) -> T:
        """The answer of a request; McpFailure with a sentence for whatever goes wrong."""
        try:
            return await request
        except MCPError as error:
            if str(error) in _OVER or error.code == types.CONNECTION_CLOSED:
                await asyncio.sleep(0)  # whoever read the end says why
                self._ending.end("The server ended the session." if str(error) in _OVER else "The connection was lost.")
                raise self._ending.failure() from None
            raise McpFailure(_said(error)) from None
        except (ValidationError, ValueError) as error:
            raise McpFailure(f"Its answer is not what the protocol allows ({type(error).__name__}).") from None
        except RuntimeError:
            raise McpFailure("It asks for something that Palimpsest does not do.") from None


def _said(error: MCPError) -> str:
    """The server's own error, as a sentence."""
    words = " ".join(visible(str(error), keep="\n\t").split())[:_LONGEST_MESSAGE]
    return words if words.endswith((".", "!", "?")) else f"{words}." if words else "It answered with an error."


def _sentence(error: BaseException, config: ServerConfig) -> str:
    """Why the package gave up."""
    for each in _leaves(error):
        if isinstance(each, MCPError):
            return _said(each)
        if isinstance(each, httpx2.HTTPError | httpx2.InvalidURL | httpx2.StreamError | OSError):
            return f"{visible(config.url or config.name)[:200]} cannot be reached ({type(each).__name__})."
        if isinstance(each, ValidationError):
            return "It does not speak the Model Context Protocol as Palimpsest knows it."
    return f"The connection broke ({type(error).__name__})."


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for each in error.exceptions for leaf in _leaves(each)]


# ------------------------------------------------------------------------------------------------- the package's values


def _to_declared(config: ServerConfig, tools: Sequence[types.Tool]) -> Iterator[DeclaredTool]:
    """The tools, those that are wanted with the problems of their schemas. To judge one takes about a millisecond for
    each schema in it, so only so many are judged."""
    room = MAX_JUDGED_CHARACTERS
    for tool in tools:
        description, schema, problem = tool.description or "", tool.input_schema, None
        is_wanted = config.tools is None or tool.name in config.tools
        if is_wanted and declaration_problem(description, schema) is None:  # else this is told
            room -= len(canonical_json(schema))
            problem = _problem_of(schema) if room >= 0 else _TOO_MANY
        is_read_only = tool.annotations is not None and tool.annotations.read_only_hint is True
        yield DeclaredTool(tool.name, description, schema, is_read_only, problem)


def _problem_of(schema: dict[str, Any]) -> str | None:
    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "the top"
        return f"its parameters are no JSON Schema, at {visible(place)[:100]}"
    return None


def _to_prompt(prompt: types.Prompt) -> OfferedPrompt:
    arguments = tuple(
        PromptArgument(each.name, each.description or "", bool(each.required)) for each in prompt.arguments or ()
    )
    return OfferedPrompt(prompt.name, prompt.description or prompt.title or "", arguments)


def _to_block(content: Any) -> Block:
    match content:
        case types.TextContent():
            return Text(content.text)
        case types.ImageContent():
            return Media(MediaKind.IMAGE, content.mime_type, _bytes(content.data))
        case types.AudioContent():
            return Media(MediaKind.SOUND, content.mime_type, _bytes(content.data))
        case types.ResourceLink():
            return Link(content.uri, content.title or content.name)
        case types.EmbeddedResource():
            return _to_content(content.resource)
    return Text(f"[Something of the kind {type(content).__name__} came. It is not shown.]")


def _structure(value: Any) -> Text:
    """A structured answer as a text. Raises McpFailure."""
    try:
        return Text(canonical_json(foreign_json.cleaned(value)))
    except (ValueError, RecursionError):  # a number that JSON cannot hold, or too deep
        raise McpFailure("Its answer is not what the protocol allows.") from None


def _to_content(content: Any) -> Block:
    if isinstance(content, types.TextResourceContents):
        return Text(content.text, content.uri)
    mime_type = content.mime_type or "application/octet-stream"
    kind = MediaKind.IMAGE if mime_type.startswith("image/") else MediaKind.FILE
    return Media(kind, mime_type, _bytes(content.blob), content.uri)


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b""
