"""The models that connected editors offer, as one of the providers. They come and go with the editors.

They are only used when the user chooses one by name, never by default and never to help another model.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NewType, Protocol, assert_never

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.context.tokens import Estimator
from palimpsest.domain.errors import ErrorDetail, ErrorKind, ProviderError
from palimpsest.domain.models.images import ASSUMED
from palimpsest.domain.models.limits import LimitsSource, Model, ModelLimits, ModelTable
from palimpsest.domain.models.provider import Provider, StreamEvent

EDITOR: Final = "editor"
"""The name of the provider. A model is `editor/ID`, with the editor's own id."""
HINT: Final = (
    "no connected editor offers it. Let one offer its models (in VS Code with the setting `palimpsest.editorModels`), "
    "or choose another model"
)
LEAST_INPUT: Final = 2_048
"""The smallest window in tokens that leaves room for a conversation."""
_LONGEST_ID: Final = 200
_MOST: Final = 200
"""The most models of one editor."""
_LEAST_SIGMA: Final = 0.05
"""An editor may add text to a request, so no count is exact."""


class Failing(StrEnum):
    """The reason why an editor did not complete a model call."""

    NO_PERMISSION = "noPermission"
    BLOCKED = "blocked"
    NOT_FOUND = "notFound"
    QUOTA = "quota"
    TOO_LONG = "tooLong"
    OTHER = "other"
    GONE = "gone"
    """The editor left."""
    SILENT = "silent"
    """Nothing came for too long."""


class CallFailed(Exception):
    """The services catch this error."""

    def __init__(self, why: Failing) -> None:
        super().__init__(why.value)
        self.why = why


@dataclass(frozen=True, slots=True)
class EditorModel:
    """A model that an editor offers."""

    id: str
    max_input: int
    """Tokens."""
    max_output: int | None
    """The window in tokens; None when unknown."""
    family: str
    """The name of the public model; empty when unknown."""
    takes_tools: bool
    sees_images: bool = False


EditorId = NewType("EditorId", str)
"""The id of an editor's connection to this process."""


class ModelHost(Protocol):
    """A connected editor that carries out model calls."""

    @property
    def id(self) -> EditorId: ...

    def complete(self, model: EditorModel, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        """One call, like `Provider.stream`. Raises CallFailed."""
        ...


@dataclass(slots=True)
class EditorModels:
    """The `Provider` of the models that editors offer to this process."""

    _offers: dict[ModelHost, dict[str, EditorModel]] = field(default_factory=dict)
    """The editors of each model id, in the order in which they came."""
    _known: dict[str, EditorModel] = field(default_factory=dict)
    """Every model that was ever offered, in its last form: a conversation keeps its budget while its editor is away."""

    @property
    def name(self) -> str:
        return EDITOR

    def offer(self, host: ModelHost, models: Iterable[EditorModel]) -> None:
        """Replace the models of an editor. Unusable models are left out; of two with one id, the first counts."""
        offered: dict[str, EditorModel] = {}
        for model in models:
            if _is_usable(model) and len(offered) < _MOST:
                offered.setdefault(model.id, model)
        self._offers[host] = offered
        self._known |= offered

    def withdraw(self, host: ModelHost) -> None:
        """Remove an editor that has left."""
        self._offers.pop(host, None)

    def names(self) -> list[str]:
        """The available models."""
        return sorted({f"{EDITOR}/{each}" for offered in self._offers.values() for each in offered})

    def is_offered(self, model: Model) -> bool:
        return self._host(model.service_name) is not None

    def find(self, name: str, table: ModelTable) -> Model | None:
        """The model `editor/ID`, offered or not, with what the table knows of its family; None for another name."""
        provider, _, model_id = name.partition("/")
        if provider != EDITOR or not model_id:
            return None
        host = self._host(model_id)
        known = self._known.get(model_id) if host is None else self._offers[host][model_id]
        base = (known and table.find(known.family)) or table.find(model_id.rpartition("/")[2])
        base = base or table.unknown(name)
        estimator = Estimator(base.estimator.factor, max(base.estimator.sigma, _LEAST_SIGMA))
        limits, source = table.unknown(name).limits, LimitsSource.DEFAULT_FALLBACK
        if known is not None:
            # At most half of it is kept for the answer, whatever an editor says.
            limits = ModelLimits(known.max_input, min(known.max_output or limits.max_output, known.max_input // 2))
            source = LimitsSource.LIVE
        return replace(
            base,
            name=name,
            provider=EDITOR,
            service_name=model_id,
            limits=limits,
            source=source,
            estimator=estimator,
            images=(base.images or ASSUMED) if known is not None and known.sees_images else None,
        )

    async def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        """Stream from the first editor that offers the model."""
        async with aclosing(self._stream(context, None)) as events:
            async for event in events:
                yield event

    def asked_by(self, editor_id: EditorId) -> Provider:
        """The same provider for the work of one editor. That editor comes first when it offers the model, because its
        user's plan should pay for the call."""
        return _AskedBy(self, editor_id)

    async def _stream(self, context: PreparedContext, editor_id: EditorId | None) -> AsyncGenerator[StreamEvent, None]:
        host = self._host(context.model, editor_id)
        if host is None:
            raise _error(Failing.NOT_FOUND, context.model)
        try:
            async with aclosing(host.complete(self._offers[host][context.model], context)) as events:
                async for event in events:
                    yield event
        except CallFailed as error:
            raise _error(error.why, context.model) from None

    def _host(self, model_id: str, editor_id: EditorId | None = None) -> ModelHost | None:
        offering = [host for host, offered in self._offers.items() if model_id in offered]
        return next((host for host in offering if host.id == editor_id), next(iter(offering), None))


@dataclass(frozen=True, slots=True)
class _AskedBy:
    """A `Provider`: the models that editors offer, for the work of one of them."""

    models: EditorModels
    editor_id: EditorId

    @property
    def name(self) -> str:
        return self.models.name

    def stream(self, context: PreparedContext) -> AsyncGenerator[StreamEvent, None]:
        return self.models._stream(context, self.editor_id)


def _is_usable(model: EditorModel) -> bool:
    is_name = model.id.isprintable() and model.id == model.id.strip() and 0 < len(model.id) <= _LONGEST_ID
    return is_name and model.max_input >= LEAST_INPUT and (model.max_output is None or model.max_output > 0)


def _error(why: Failing, model: str) -> ProviderError:
    kind, sentence = _explain(why)
    is_retryable = kind in (ErrorKind.RATE_LIMITED, ErrorKind.NETWORK)
    told = sentence.format(model=f"{EDITOR}/{model}")
    return ProviderError(kind, told, ErrorDetail(EDITOR, model), is_retryable=is_retryable)


def _explain(why: Failing) -> tuple[ErrorKind, str]:
    match why:
        case Failing.NO_PERMISSION:
            return ErrorKind.AUTH, (
                "The editor was not allowed to let Palimpsest use {model}. Allow it in the editor, or choose another "
                "model."
            )
        case Failing.BLOCKED:
            return ErrorKind.RATE_LIMITED, (
                "The editor does not let Palimpsest use {model} for now: there may have been too many requests, or the "
                "plan is used up. Try again later, or choose another model."
            )
        case Failing.NOT_FOUND:
            return ErrorKind.NOT_FOUND, "No editor offers {model} now. Choose another model."
        case Failing.QUOTA:
            return ErrorKind.QUOTA, "Your plan's share of {model} is used up. Choose another model."
        case Failing.TOO_LONG:
            return ErrorKind.CONTEXT_TOO_LONG, "The request is too long for {model}."
        case Failing.OTHER:
            return ErrorKind.BAD_RESPONSE, "The editor could not get an answer from {model}. Its log may say why."
        case Failing.GONE:
            return ErrorKind.NETWORK, "The editor that offers {model} left before the answer was complete."
        case Failing.SILENT:
            return ErrorKind.NETWORK, "Nothing came from {model} for too long. Try again, or choose another model."
        case _:
            assert_never(why)
