"""`editorModel/complete`: calls of models that the editor carries out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pygls.exceptions import JsonRpcException

from palimpsest.domain import foreign_json
from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import Content, Digest, Role, TextPart, ToolCallPart, canonical_json, clean_text
from palimpsest.domain.models.provider import (
    Finished,
    StopReason,
    StreamEvent,
    TextDelta,
    TokenUsage,
    ToolArguments,
    ToolCallStart,
)
from palimpsest.lsp.features.parts.offered_models import OfferedModels
from palimpsest.lsp.runtime.phase import Phase
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.machine import machine
from palimpsest.services.models.editor_models import CallFailed, EditorModel, Failing
from palimpsest.values import Mismatch
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
    EditorModelStopReason,
    EditorModelTool,
)
from palimpsest.wire.codec.convert import from_json
from palimpsest_clients.decoding import own_call_id
from palimpsest_clients.rendering import call_arguments, said_by_user

if TYPE_CHECKING:
    from palimpsest.lsp.features.parts.offered_models import Pieces

_STOPPED: Final = {
    EditorModelStopReason.END: StopReason.END,
    EditorModelStopReason.TOOL_CALLS: StopReason.TOOL_CALLS,
    EditorModelStopReason.OUTPUT_LIMIT: StopReason.OUTPUT_LIMIT,
    EditorModelStopReason.FILTERED: StopReason.FILTERED,
}


def to_models(offered: Sequence[EditorModelInfo]) -> list[EditorModel]:
    return [
        EditorModel(
            each.id,
            each.max_input_tokens,
            each.max_output_tokens,
            each.family or "",
            takes_tools=each.supports_tools is not False,
            sees_images=bool(each.supports_images),
        )
        for each in offered
    ]


async def complete(
    ls: PalimpsestServer, model: EditorModel, context: PreparedContext
) -> AsyncGenerator[StreamEvent, None]:
    """The answer of the editor's model, as it comes. Raises CallFailed."""
    if ls.protocol.phase is not Phase.RUNNING:
        raise CallFailed(Failing.GONE)
    host = ls.part(OfferedModels)
    params = _to_params(machine.new_id(), model, context)
    answer = asyncio.wrap_future(ls.protocol.send_request("palimpsest/editorModel/complete", params))
    with host.hearing(params.request_id) as pieces:

        def wake(answer: asyncio.Future[Any]) -> None:
            answer.cancelled() or answer.exception()  # retrieves the exception, because nobody else may
            pieces.put_nowait(None)

        answer.add_done_callback(wake)
        call_ids: set[str] = set()
        try:
            while (delta := await _next(pieces, host.silence_s)) is not None:
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
            answer.cancel()  # tells the editor; a no-op when it has answered


async def _next(pieces: Pieces, silence_s: float) -> EditorModelDeltaParams | None:
    """The next piece. Raises TimeoutError after `silence_s` seconds."""
    async with asyncio.timeout(silence_s):
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
    """The messages without displayed thinking and without parts for other services."""
    for content in context.messages:
        if parts := list(_to_parts(content, context.pictures)):
            yield EditorModelMessage(MessageRole(content.role.value), parts)


def _to_parts(content: Content, pictures: Mapping[Digest, str]) -> Iterator[EditorModelPart]:
    for result in content.results:
        yield EditorModelPart(
            EditorModelPartType.TOOL_RESULT, result.text, result.call_id, result.name, is_error=result.is_error or None
        )
    if content.role is not Role.ASSISTANT:
        for each in said_by_user(content, pictures):
            if isinstance(each, str):
                yield EditorModelPart(EditorModelPartType.TEXT, each)
            else:
                yield EditorModelPart(EditorModelPartType.IMAGE, media_type=each.media_type, data=each.data)
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
    """The events of a delta. `call_ids` holds the ids of earlier calls; this call's id is added. Raises CallFailed."""
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
    try:
        return Failing(from_json(data, EditorModelErrorData).kind.value)
    except Mismatch:
        return Failing.OTHER
