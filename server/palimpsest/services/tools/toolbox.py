"""The tools that a model may call, as the turn engine uses them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.tools import ToolSchema
from palimpsest.services.workspace.pictures import Picture


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a call."""

    text: str
    is_error: bool = False
    pictures: tuple[Picture, ...] = ()
    """Pictures that belong to the result."""


def shown(picture: Picture) -> ToolOutput:
    """The result that is a picture."""
    part = picture.part
    return ToolOutput(f"A picture: {part.label}, {part.width} x {part.height} pixels.", pictures=(picture,))


def unheard(_text: str) -> None:
    """Says something where nobody watches."""


async def unmarked(_waits: bool) -> None:
    """Marks nothing where nothing is journaled."""


@dataclass(frozen=True, slots=True)
class TurnScope:
    """The conversation and the turn of a call."""

    conversation_id: ConversationId
    turn_id: TurnId
    say: Callable[[str], None] = field(default=unheard, compare=False)
    """Shows a piece of what the running call writes, and returns at once. It is no part of the result."""
    wait: Callable[[bool], Awaitable[None]] = field(default=unmarked, compare=False)
    """Remembers that the running call waits for the user's word (True), or that they agreed (False): a turn that ends
    in between did nothing."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: its declaration and its function."""

    schema: ToolSchema
    run: Callable[[str], Awaitable[ToolOutput]]
    """Takes the JSON arguments as the model wrote them; they may be malformed. An exception is a failed call, and the
    model learns nothing but that."""
    is_read_only: bool = True
    """Whether running it again does no harm. Other tools are offered in trusted folders only."""


ToolMaker = Callable[[TurnScope], Sequence[Tool]]
"""Makes the tools of one turn. Their declarations are the same for every turn."""


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools of one turn, as they were when it began."""

    by_name: Mapping[str, Tool]

    @property
    def schemas(self) -> tuple[ToolSchema, ...]:
        """The declarations, sorted by name."""
        return tuple(self.by_name[name].schema for name in sorted(self.by_name))


@dataclass(slots=True)
class Toolbox:
    """The tools of one folder."""

    makers: Sequence[ToolMaker] = ()
    is_trusted: Callable[[], bool] = lambda: True
    before: Callable[[TurnScope, str, str], Awaitable[None]] | None = None
    """Called before each call, with the tool's name and arguments. It raises InvalidRequest to refuse the call."""
    settled: Callable[[], Awaitable[None]] | None = None
    """Waits a while for makers whose tools are on their way."""
    _nobody: TurnScope = field(default=TurnScope(ConversationId(""), TurnId("")), init=False)

    async def settle(self) -> None:
        """Wait a while for tools that are on their way, before a turn takes what there is."""
        if self.settled is not None:
            await self.settled()

    def for_turn(self, scope: TurnScope) -> OfferedTools:
        """The tools as they are now. Of two with one name, the first counts."""
        tools: dict[str, Tool] = {}
        is_trusted = self.is_trusted()
        for make in self.makers:
            for tool in make(scope):
                if tool.is_read_only or is_trusted:
                    tools.setdefault(tool.schema.name, self._checked(scope, tool))
        return OfferedTools(tools)

    def _checked(self, scope: TurnScope, tool: Tool) -> Tool:
        if (check := self.before) is None:
            return tool

        async def run(arguments: str) -> ToolOutput:
            await check(scope, tool.schema.name, arguments)
            return await tool.run(arguments)

        return replace(tool, run=run)

    def schemas(self) -> tuple[ToolSchema, ...]:
        """The declarations of the tools of a turn that would begin now, sorted by name."""
        return self.for_turn(self._nobody).schemas
