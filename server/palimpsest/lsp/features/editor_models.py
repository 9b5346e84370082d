"""`didChangeEditorModels` and `editorModel/*`: models that the editor offers, and the calls it carries out."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterator
from typing import TYPE_CHECKING, Any, Final, cast

from pygls.exceptions import JsonRpcException

from palimpsest.domain import foreign_json
from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.messages import Content, Role, TextPart, ToolCallPart, canonical_json, clean_text
from palimpsest.domain.models.provider import (
    Finished,
    StopReason,
    StreamEvent,
    TextDelta,
    TokenUsage,
    ToolArguments,
    ToolCallStart,
)
from palimpsest.lsp.runtime.protocol import Phase
from palimpsest.machine import machine
from palimpsest.wire.areas.conversations import MessageRole
from palimpsest.wire.areas.editor_models import (
    AskEditorModelParams,
    AskEditorModelResult,
    EditorModelDeltaParams,
    EditorModelDeltaType,
    EditorModelErrorData,
    EditorModelInfo,
    EditorModelMessage,
    EditorModelPart,
    EditorModelPartType,
    EditorModelsChangedParams,
    EditorModelStopReason,
    EditorModelTool,
)
from palimpsest.wire.codec.convert import WireError, from_json

if TYPE_CHECKING:
    from palimpsest.domain.context.prepared import PreparedContext
    from palimpsest.lsp.server import PalimpsestServer
    from palimpsest.services.folder.folders import Folders
    from palimpsest.services.models.editor_models import EditorId, EditorModel, EditorModels, Failing

_SILENCE_S: Final = 300.0
_STOPPED: Final = {
    EditorModelStopReason.END: StopReason.END,
    EditorModelStopReason.TOOL_CALLS: StopReason.TOOL_CALLS,
    EditorModelStopReason.OUTPUT_LIMIT: StopReason.OUTPUT_LIMIT,
    EditorModelStopReason.FILTERED: StopReason.FILTERED,
}


def register(server: PalimpsestServer) -> None:
    server.feature("palimpsest/didChangeEditorModels")(did_change_editor_models)
    server.feature("palimpsest/editorModel/delta")(hear_delta)


async def did_change_editor_models(ls: PalimpsestServer, params: EditorModelsChangedParams) -> None:
    ls.editor_models.change(params.models)
    with contextlib.suppress(PalimpsestError):  # it is in the way of every request too, and each of them says so
        await ls.folders()


def hear_delta(ls: PalimpsestServer, params: EditorModelDeltaParams) -> None:
    ls.editor_models.hear(params)


class OfferedModels:
    """The models of one connection's editor: a `services.editor_models.ModelHost`."""

    silence_s: float = _SILENCE_S
    """How long a call waits for the next piece. The first may take a person's answer to the editor's question whether
    Palimpsest may ask the model at all."""

    def __init__(self, server: PalimpsestServer) -> None:
        self.id: Final = cast("EditorId", machine.new_id())
        """By it the services know whose work they do."""
        self._server = server
        self._models: list[EditorModelInfo] = []
        self._told = self._models
        """What the services know of."""
        self._services: EditorModels | None = None
        """Where they are offered; None before there was anything to offer."""
        self._calls: dict[str, asyncio.Queue[EditorModelDeltaParams | None]] = {}
        """What came of each call and was not taken yet; None: there is an answer."""

    def change(self, models: list[EditorModelInfo]) -> None:
        """What it offers from now on. It counts when the services have been told."""
        self._models = models

    def tell(self, folders: Folders) -> None:
        """Tells the services, if there is news for them."""
        if self._models is self._told or folders.editor_models is None:
            return
        from palimpsest.services.models.editor_models import EditorModel

        self._told, self._services = self._models, folders.editor_models
        self._services.offer(
            self,
            [
                EditorModel(
                    each.id,
                    each.max_input_tokens,
                    each.max_output_tokens,
                    each.family or "",
                    takes_tools=each.supports_tools is not False,
                )
                for each in self._told
            ],
        )

    def hear(self, delta: EditorModelDeltaParams) -> None:
        if (pieces := self._calls.get(delta.request_id)) is not None:
            pieces.put_nowait(delta)

    def end(self) -> None:
        """The editor is not there any more: what it said last is not told to anybody."""
        self._models = self._told
        if self._services is not None:
            self._services.withdraw(self)

    async def complete(self, model: EditorModel, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        from palimpsest.services.models.editor_models import CallFailed, Failing

        if self._server.protocol.phase is not Phase.RUNNING:
            raise CallFailed(Failing.GONE)
        params = _to_params(machine.new_id(), model, context)
        answer = asyncio.wrap_future(self._server.protocol.send_request("palimpsest/editorModel/complete", params))
        pieces = self._calls[params.request_id] = asyncio.Queue()

        def wake(answer: asyncio.Future[Any]) -> None:
            answer.cancelled() or answer.exception()  # looked at, because nobody may be left who does
            pieces.put_nowait(None)

        answer.add_done_callback(wake)
        call_ids: set[str] = set()
        try:
            while (delta := await self._next(pieces)) is not None:
                for event in _to_events(delta, call_ids):
                    yield event
            if answer.cancelled():
                raise CallFailed(Failing.GONE)
            yield _to_finished(answer.result())
        except TimeoutError:
            raise CallFailed(Failing.SILENT) from None
        except JsonRpcException as error:
            raise CallFailed(_why(error.data)) from None
        finally:
            del self._calls[params.request_id]
            answer.cancel()  # the editor is told; nothing happens where it has answered

    async def _next(self, pieces: asyncio.Queue[EditorModelDeltaParams | None]) -> EditorModelDeltaParams | None:
        """Raises TimeoutError."""
        async with asyncio.timeout(self.silence_s):
            return await pieces.get()


def _to_params(request_id: str, model: EditorModel, context: PreparedContext) -> AskEditorModelParams:
    has_tools = model.takes_tools and context.tool_choice == "auto"
    tools = [EditorModelTool(tool.name, tool.description, dict(tool.parameters)) for tool in context.tools]
    return AskEditorModelParams(
        request_id,
        model.id,
        context.system,
        list(_to_messages(context)),
        context.max_output_tokens,
        tools=tools if tools and has_tools else None,
    )


def _to_messages(context: PreparedContext) -> Iterator[EditorModelMessage]:
    """What thinking is shown, and what is meant for other services, is left out."""
    for content in context.messages:
        if parts := list(_to_parts(content)):
            yield EditorModelMessage(MessageRole(content.role.value), parts)


def _to_parts(content: Content) -> Iterator[EditorModelPart]:
    from palimpsest_clients.rendering import call_arguments, user_texts

    for result in content.results:
        yield EditorModelPart(
            EditorModelPartType.TOOL_RESULT, result.text, result.call_id, result.name, is_error=result.is_error or None
        )
    if content.role is not Role.ASSISTANT:
        for text in user_texts(content):
            yield EditorModelPart(EditorModelPartType.TEXT, text)
        return
    for part in content.parts:
        match part:
            case TextPart() if part.text.strip():
                yield EditorModelPart(EditorModelPartType.TEXT, part.text)
            case ToolCallPart():
                yield EditorModelPart(
                    EditorModelPartType.TOOL_CALL,
                    call_id=part.call_id,
                    name=part.name,
                    arguments=call_arguments(part),
                )
            case _:
                pass


def _to_events(delta: EditorModelDeltaParams, call_ids: set[str]) -> Iterator[StreamEvent]:
    """`call_ids`: of the calls that came before; this one's joins them. Raises CallFailed."""
    from palimpsest.services.models.editor_models import CallFailed, Failing
    from palimpsest_clients.decoding import own_call_id

    match delta.type:
        case EditorModelDeltaType.TEXT:
            if text := clean_text(delta.text or "")[0]:
                yield TextDelta(text)
        case EditorModelDeltaType.TOOL_CALL:
            arguments = foreign_json.cleaned(delta.arguments or {})
            if not delta.name or not foreign_json.is_writable(arguments):
                raise CallFailed(Failing.OTHER)
            call_id = own_call_id(delta.call_id, call_ids)
            call_ids.add(call_id)
            yield ToolCallStart(call_id, delta.name)
            yield ToolArguments(call_id, canonical_json(arguments))


def _to_finished(result: AskEditorModelResult) -> Finished:
    usage = result.usage
    counted = (
        TokenUsage() if usage is None else TokenUsage(max(usage.input_tokens, 0), 0, 0, max(usage.output_tokens, 0))
    )
    return Finished(_STOPPED[result.stop_reason], counted)


def _why(data: Any) -> Failing:
    from palimpsest.services.models.editor_models import Failing

    try:
        return Failing(from_json(data, EditorModelErrorData).kind.value)
    except WireError:
        return Failing.OTHER
