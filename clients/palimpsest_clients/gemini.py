"""Google's Gemini API: `generateContent`, streamed (v1beta, as of 2026-11)."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.errors import ErrorKind
from palimpsest.domain.messages import (
    Content,
    Digest,
    OpaquePart,
    Role,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    canonical_json,
)
from palimpsest.domain.models.provider import (
    Counted,
    Finished,
    LiveModel,
    StopReason,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
    ToolArguments,
    ToolCallStart,
)
from palimpsest.domain.models.providers import BY_NAME, KEY_HEADERS
from palimpsest.domain.tools import ToolSchema
from palimpsest_clients import faults, model_lists
from palimpsest_clients.decoding import counts, own_call_id, string
from palimpsest_clients.gemini_schema import supported_schema
from palimpsest_clients.http import ModelService, key_header
from palimpsest_clients.rendering import BEGAN_EARLIER, call_arguments, called, returned, said_by_user
from palimpsest_clients.retry import RetryPolicy

_NAME: Final = "gemini"
_THINKS: Final = re.compile(r"(?:models/)?gemini-(?!1|2\.0)")
"""Models that take a `thinkingConfig`; the others refuse it."""
_DEMANDS_SIGNATURES: Final = re.compile(r"(?:models/)?gemini-(?![12]\b)")
"""Models that refuse a step whose first call has no signature."""
_NO_SIGNATURE: Final = "skip_thought_signature_validator"
"""The signature that Google documents for calls of another model, and for calls whose signature was lost with their
stream."""
_STOP_REASONS: Final = {
    "MAX_TOKENS": StopReason.OUTPUT_LIMIT,
    "CONTINUATION": StopReason.OUTPUT_LIMIT,
    **dict.fromkeys(
        (
            *("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "ESCALATION"),
            *("MODEL_ARMOR", "PUP_LIMITED_DISABLED", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
        ),
        StopReason.FILTERED,
    ),
}
"""All other reasons are ordinary ends, or failures."""
_FAILURES: Final = {
    "MALFORMED_FUNCTION_CALL": "wrote a tool call that cannot be read, and ended its answer there. Ask again",
    "UNEXPECTED_TOOL_CALL": "called a tool that it was not offered, and ended its answer there. Ask again",
    "MALFORMED_RESPONSE": "wrote an answer that cannot be read. Ask again",
    "MISSING_THOUGHT_SIGNATURE": "misses its own signatures in this conversation. Ask again in a message of your own",
}
_MOST_PAGES: Final = 10

Part = dict[str, Any]


class GeminiClient:
    """The `LiveProvider` for Gemini. The key travels in a header, never in an address."""

    def __init__(
        self,
        api_key: str | None,
        base_url: str = BY_NAME[_NAME].address,
        name: str = _NAME,
        *,
        auth: tuple[str, str] | None = KEY_HEADERS["x-goog-api-key"],
        headers: Iterable[tuple[str, str]] = (),
        retry: RetryPolicy | None = None,
    ) -> None:
        """Raises ProviderError (auth) when `api_key` cannot be a key."""
        self._name = name
        self._service = ModelService(
            name, base_url, dict(headers), key_header(name, auth, api_key), retry or RetryPolicy()
        )

    @property
    def name(self) -> str:
        return self._name

    def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        path = f"{_path(context.model)}:streamGenerateContent?alt=sse"  # without it, the answer is one JSON array
        return self._service.stream(
            path,
            request_body(context, self._name),
            lambda: GenerateDecoder(context.model, self._name),
            model=context.model,
        )

    async def models(self) -> Sequence[LiveModel]:
        """All pages of the list, without the models that write no text."""
        found: list[LiveModel] = []
        page = ""
        for _ in range(_MOST_PAGES):
            answer = await self._service.fetch(f"/v1beta/models?pageSize=1000{page}")
            found += _live_models(answer)
            if not isinstance(answer, Mapping) or not answer.get("nextPageToken"):
                break
            page = f"&pageToken={quote(str(answer['nextPageToken']), safe='')}"
        return found

    async def count_tokens(self, context: PreparedContext) -> int | None:
        request = {"model": _resource(context.model), **request_body(context, self._name)}
        body = {"generateContentRequest": request}
        answer = await self._service.fetch(f"{_path(context.model)}:countTokens", context.model, body)
        return model_lists.tokens(answer.get("totalTokens")) if isinstance(answer, Mapping) else None

    async def aclose(self) -> None:
        await self._service.aclose()


def _resource(model: str) -> str:
    return model if model.startswith(("models/", "tunedModels/")) else f"models/{model}"


def _path(model: str) -> str:
    return f"/v1beta/{quote(_resource(model))}"


def _live_models(answer: Any) -> list[LiveModel]:
    """The models of one page. The limit of the input counts as the window, as in the built-in table. The answer is
    then taken from it, so a request may be smaller than it could be, and never larger."""
    listed = answer.get("models") if isinstance(answer, Mapping) else None
    found = []
    for entry in listed if isinstance(listed, list) else ():
        methods = entry.get("supportedGenerationMethods") if isinstance(entry, Mapping) else None
        if isinstance(methods, list) and "generateContent" in methods:
            window, max_output = (model_lists.tokens(entry.get(f"{way}TokenLimit")) for way in ("input", "output"))
            is_told = window is not None and max_output is not None
            name = str(entry.get("name")).removeprefix("models/")
            found.append(LiveModel(name, model_lists.limits(window, max_output) if is_told else None))
    return found


def request_body(context: PreparedContext, provider: str = _NAME) -> dict[str, Any]:
    """The request for `context`. Its address contains the model. What was sent before stays as it was."""
    config: dict[str, Any] = {"maxOutputTokens": context.max_output_tokens}
    if _THINKS.match(context.model):
        config["thinkingConfig"] = {"includeThoughts": True}
    body: dict[str, Any] = {"contents": _contents(context, provider), "generationConfig": config}
    if context.system.strip():
        body["systemInstruction"] = {"parts": [{"text": context.system}]}
    if context.tools:
        body["tools"] = [{"functionDeclarations": [_declaration(tool) for tool in context.tools]}]
        if context.tool_choice == "none":
            body["toolConfig"] = {"functionCallingConfig": {"mode": "NONE"}}
    return body


def _declaration(tool: ToolSchema) -> dict[str, Any]:
    declaration: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if tool.parameters.get(
        "properties"
    ):  # an object without properties is refused; leaving the schema out means the same
        declaration["parametersJsonSchema"] = supported_schema(tool.parameters)
    return declaration


def _contents(context: PreparedContext, provider: str) -> list[dict[str, Any]]:
    """Alternating user and model contents, the first of the user, because a call must follow one. Results come
    before text, because they must follow their calls at once."""
    contents: list[dict[str, Any]] = []
    for content in context.messages:
        role = "model" if content.role is Role.ASSISTANT else "user"
        parts = (
            _model_parts(content, provider, context.model)
            if role == "model"
            else _user_parts(content, context.pictures)
        )
        if not parts:
            continue
        if not contents and role == "model":
            contents.append({"role": "user", "parts": [{"text": BEGAN_EARLIER}]})
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": role, "parts": parts})
    for rendered in contents:
        if rendered["role"] == "user":
            rendered["parts"].sort(key=lambda part: "functionResponse" not in part)
    return contents


def _user_parts(content: Content, pictures: Mapping[Digest, str]) -> list[Part]:
    """The pictures of a tool's result come behind it: older models take none in it."""
    said = [
        {"text": each} if isinstance(each, str) else {"inlineData": {"mimeType": each.media_type, "data": each.data}}
        for each in said_by_user(content, pictures)
    ]
    return [*map(_result, content.results), *said]


def _result(part: ToolResultPart) -> Part:
    response = {"error" if part.is_error else "output": part.text}
    return {"functionResponse": {"id": part.call_id, "name": called(part), "response": response}}


def _model_parts(content: Content, provider: str, model: str) -> list[Part]:
    """Text and calls, each signature on the part that it came with: text is cut where it was cut, and not joined."""
    signed = returned(content, provider, model, at=int, length=int, signature=str, thought=str)
    parts: list[Part] = []
    position = 0

    def take_signed() -> dict[str, Any] | None:
        """The entry of the part that begins here, or None. Parts that are nothing but a signature are added on the
        way."""
        while signed and signed[0]["at"] <= position:
            entry: dict[str, Any] = signed.pop(0)
            if entry["length"]:
                return entry
            thought = {"thought": True} if entry["thought"] else {}
            parts.append({"text": entry["thought"], **thought, "thoughtSignature": entry["signature"]})
        return None

    for part in content.parts:
        match part:
            case TextPart():
                rest = part.text
                while rest:
                    entry = take_signed()
                    end = entry["length"] if entry else signed[0]["at"] - position if signed else len(rest)
                    piece, rest = rest[:end], rest[end:]
                    if entry:
                        parts.append({"text": piece, "thoughtSignature": entry["signature"]})
                    elif piece.strip():
                        parts.append({"text": piece})
                    position += len(piece)
            case ToolCallPart():
                entry = take_signed()
                call = {"functionCall": {"id": part.call_id, "name": called(part), "args": call_arguments(part)}}
                parts.append(call | ({"thoughtSignature": entry["signature"]} if entry else {}))
                position += 1
            case _:
                pass
    take_signed()
    calls = [part for part in parts if "functionCall" in part]
    if calls and _DEMANDS_SIGNATURES.match(model):
        calls[0].setdefault("thoughtSignature", _NO_SIGNATURE)
    return parts


class GenerateDecoder:
    """The decoder of one answer, each chunk of which is a response with the next parts."""

    def __init__(self, model: str, provider: str = _NAME) -> None:
        self._model = model
        self._provider = provider
        self._position = 0
        """The characters of text so far, where a call counts as one. It stays true however the text is cut into
        parts."""
        self._signed: list[OpaquePart] = []
        self._call_ids: list[str] = []
        self._usage: dict[str, int] = {}
        self._sent = TokenUsage()
        """What was counted of the request, as it was told last."""
        self._finish_reason: str | None = None
        self._is_blocked = False
        self.is_done = False

    def feed(self, event: Mapping[str, Any]) -> Sequence[StreamEvent]:
        # Later numbers replace earlier ones, because they are running totals.
        self._usage.update({name: n for name, n in counts(event.get("usageMetadata")).items() if n})
        sent = replace(_usage(self._usage), output_tokens=0)
        self._is_blocked = self._is_blocked or bool((event.get("promptFeedback") or {}).get("blockReason"))
        items: list[StreamEvent] = []
        if sent != self._sent:
            self._sent = sent
            items.append(Counted(sent))
        for candidate in (event.get("candidates") or ())[:1]:
            for part in (candidate.get("content") or {}).get("parts") or ():
                items += self._part(part)
            reason = string(candidate.get("finishReason") or "")
            if reason and reason != "FINISH_REASON_UNSPECIFIED":
                self._finish_reason = reason
        self.is_done = self._is_blocked or self._finish_reason is not None
        return items

    def finish(self) -> Finished | None:
        if self._is_blocked:
            what = "refused the request because of its content rules"
            raise faults.failure(self._provider, self._model, ErrorKind.FILTERED, what)
        if self._finish_reason is None:
            return None
        if what := _FAILURES.get(self._finish_reason, ""):
            raise faults.failure(self._provider, self._model, ErrorKind.BAD_RESPONSE, what, is_retryable=True)
        ordinary = StopReason.TOOL_CALLS if self._call_ids else StopReason.END
        reason = _STOP_REASONS.get(self._finish_reason, ordinary)
        return Finished(reason, _usage(self._usage), tuple(self._signed))

    def _part(self, part: Mapping[str, Any]) -> list[StreamEvent]:
        items: list[StreamEvent] = []
        start, thought = self._position, ""
        if call := part.get("functionCall"):
            call_id = own_call_id(call.get("id"), self._call_ids)
            self._call_ids.append(call_id)
            self._position += 1
            arguments = canonical_json(call.get("args") or {})
            items += (ToolCallStart(call_id, string(call["name"])), ToolArguments(call_id, arguments))
        elif text := string(part.get("text") or ""):
            if part.get("thought"):
                thought = text
                items.append(ThinkingDelta(text))
            else:
                self._position += len(text)
                items.append(TextDelta(text))
        if signature := string(part.get("thoughtSignature") or ""):
            data = {"at": start, "length": self._position - start, "signature": signature, "thought": thought}
            self._signed.append(OpaquePart(self._provider, self._model, canonical_json(data)))
        return items


def _usage(usage: Mapping[str, int]) -> TokenUsage:
    """`promptTokenCount` includes the tokens from the cache; `candidatesTokenCount` excludes thoughts."""
    n_read = usage.get("cachedContentTokenCount", 0)
    return TokenUsage(
        input_tokens=max(0, usage.get("promptTokenCount", 0) - n_read),
        cache_read_tokens=n_read,
        output_tokens=usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0),
    )
