"""`palimpsest replay`: recorded sessions in a temporary store, and a table of the results; or the requests of a stored
conversation, made again."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import functools
import os
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar, assert_never

from palimpsest.app.compose import load_folders
from palimpsest.app.places import read_places, user_file
from palimpsest.app.settings_files import load_settings
from palimpsest.cli.doctor import has_store
from palimpsest.cli.parser import examples
from palimpsest.cli.transfer import meant
from palimpsest.data import load_frame, load_model_table
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import (
    AttachmentPart,
    ConversationId,
    ImagePart,
    MessageId,
    OpaquePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from palimpsest.domain.models.limits import with_window
from palimpsest.printing import say, say_json
from palimpsest.services.background import Background
from palimpsest.services.context.engine import ContextEngine, always
from palimpsest.services.context.past_requests import PastRequest, RequestsCheck, check_requests, request_about
from palimpsest.services.conversation.recordings import load_recording
from palimpsest.services.leases import Leases
from palimpsest.services.maintenance.prices import CACHE_READ, CACHE_WRITE
from palimpsest.services.maintenance.replay import Replayer, ReplayReport
from palimpsest.services.models.catalog import Models, with_override
from palimpsest.services.models.tokenizers import Tokenizers
from palimpsest.storage.store import open_store
from palimpsest.wording import counted

_T = TypeVar("_T")
_COLUMNS: Final = (
    "messages",
    "exchanges",
    "tokens",
    "requests",
    "highest",
    "compactions",
    "prefix",
    "price",
    "newest-1st",
    "ratio",
    "digests",
)
_LONG: Final = 100
"""Sessions with at least so many exchanges get a sum of their own: in shorter ones the first requests weigh more."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show what a model was sent, and check that it can be made again. With --conversation, every request of a "
        "conversation is made again from what is kept, and compared with what was sent. With FILE, recorded sessions "
        "are gone through as if a model were asked, with any limits, and a table of tokens and prices is printed. No "
        "model is asked."
    )
    parser.epilog = examples(
        "palimpsest replay --conversation 3                 # the third that `palimpsest export` lists",
        "palimpsest replay --conversation 3 --show 41       # the request that message 41 answers",
        "palimpsest replay --window 8000 session.jsonl.xz",
    )
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="a file that `palimpsest import` could read",
    )
    parser.add_argument(
        "--model",
        default="offline",
        help="with FILE: the model whose limits and way of counting tokens are used (default: offline)",
    )
    parser.add_argument(
        "--window",
        type=int,
        metavar="N",
        help="with FILE: how many tokens the model takes (default: what the model does)",
    )
    parser.add_argument(
        "--reserve", type=int, metavar="N", help="with FILE: how many of them are kept free for the answer"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument(
        "--show",
        type=int,
        metavar="N",
        help="print the one request that message number N answers, as a model is sent it",
    )
    parser.add_argument(
        "--conversation",
        metavar="CONVERSATION",
        help="the conversation to check: its number as `palimpsest export` lists it, or how its title or id begins",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(),
        help="with --conversation: its folder (default: the one that you are in)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if bool(arguments.files) == (arguments.conversation is not None):
        raise InvalidRequest("Name files, or a conversation with --conversation, and not both.")
    if arguments.conversation is not None:
        root, name = arguments.folder.resolve(), arguments.conversation
        if arguments.show is not None:
            past = asyncio.run(_in_conversation(root, name, functools.partial(_request_about, arguments.show)))
            return print_request(past, as_json=arguments.json)
        return print_check(asyncio.run(_in_conversation(root, name, _check)), as_json=arguments.json)
    setting = read_setting(arguments.model, arguments.window, arguments.reserve, os.environ)
    if arguments.show is not None:
        if len(arguments.files) > 1:
            raise InvalidRequest("--show takes one session. Give one file.")
        say(asyncio.run(_show(arguments.files[0], setting, arguments.show)))
        return 0
    reports = (asyncio.run(_replay_file(path, setting)) for path in arguments.files)
    return print_reports(reports, as_json=arguments.json)


@dataclass(frozen=True, slots=True)
class _Setting:
    """The model of a replay, and where the vocabularies of tokenizers are kept."""

    models: Models
    model: str
    cache: Path


def read_setting(model_name: str, window: int | None, reserve: int | None, environ: Mapping[str, str]) -> _Setting:
    """Raises InvalidRequest for a model, a window or a reserve that cannot be used."""
    if (window is not None and window < 1) or (reserve is not None and reserve < 1):
        raise InvalidRequest("--window and --reserve are numbers of tokens and must be at least 1.")
    settings = load_settings(user_file(), None, environ, None)
    settings = replace(settings, context=replace(settings.context, output_limit=reserve))
    models = Models(load_model_table(), {}, {}, settings)
    model = models.get(model_name)
    if window is not None:
        model = with_window(model, window)
        models = with_override(models, model)
    models.budget(model)
    return _Setting(models, model.name, read_places(settings).cache)


async def _in_conversation(
    root: Path, written: str, ask: Callable[[ContextEngine, ConversationId], Awaitable[_T]]
) -> _T:
    if not has_store(root, os.environ):
        meant(written, ())
    folders = load_folders(os.environ)
    try:
        session = await folders.get(root)
        known = [record for record, _ in await session.conversations.list()]
        return await ask(session.contexts, meant(written, known))
    finally:
        await folders.close()


async def _check(engine: ContextEngine, conversation_id: ConversationId) -> RequestsCheck:
    return await check_requests(engine, conversation_id)


async def _request_about(message: int, engine: ContextEngine, conversation_id: ConversationId) -> PastRequest:
    return await request_about(engine, conversation_id, MessageId(message))


def print_request(past: PastRequest, *, as_json: bool) -> int:
    """Print a request as its model was sent it. Return the exit code: 1 when it came out otherwise."""
    step, context = past.step, past.context
    if as_json:
        about = {"turn": step.turn_id, "step": step.number, "sent_at": step.started_at, "is_same": past.is_same}
        say_json(about | {"model": step.model, "digest": past.digest, "lines": list(context.lines())})
        return 0 if past.is_same else 1
    same = "byte for byte as it was sent" if past.is_same else "NOT as it was sent"
    tokens = counted(context.estimated_tokens, "token")
    say(f"Request {step.number} of turn {step.turn_id}, sent to {step.model} at {step.started_at}: {tokens}, {same}.")
    for segment in context.segments:
        ids = "" if segment.message_ids is None else _ids(*segment.message_ids)
        say(f"\n=== {segment.type}{ids} · {counted(segment.tokens, 'token')} · {segment.reason}")
        if segment.type == "system":
            say(context.system)
        elif segment.type == "tools":
            say(", ".join(tool.name for tool in context.tools))
        for content in segment.contents:
            say(f"--- {content.role.value}")
            for part in content.parts:
                say(_as_text(part))
    return 0 if past.is_same else 1


def _ids(start: int, end: int) -> str:
    return f" {start}" if end == start + 1 else f" {start}-{end - 1}"


def _as_text(part: Part) -> str:
    match part:
        case ToolCallPart():
            return f"[calls {part.name} with {part.arguments}]"
        case ToolResultPart():
            return f"[result of {part.name}]\n{part.text}"
        case AttachmentPart():
            return f"[attached: {part.label}]\n{part.text}"
        case ImagePart():
            return part.line()
        case OpaquePart():
            return f"[data for {part.provider}: {counted(len(part.data), 'character')}]"
        case TextPart() | ReasoningPart():
            return part.text
        case _:
            assert_never(part)


def print_check(done: RequestsCheck, *, as_json: bool) -> int:
    """Print what came of a conversation's requests. Return the exit code: 1 when one was sent otherwise."""
    first = done.differing[0] if done.differing else None
    if as_json:
        counts = {"equal": done.n_equal, "differing": len(done.differing), "gone": len(done.gone)}
        where = None if first is None else {"turn": first.turn_id, "step": first.number, "sent_at": first.started_at}
        say_json({"requests": done.n_requests, **counts, "unknown": done.n_unknown, "first_difference": where})
        return 0 if first is None else 1
    say(f"{counted(done.n_requests, 'request')}, {done.n_equal} of them equal to what was sent, byte for byte.")
    if done.gone:
        step, clause = done.gone[0]
        say(
            f"{counted(len(done.gone), 'request')} cannot be made again, because words were purged or forgotten. "
            f"The first is step {step.number} of turn {step.turn_id}: {clause}."
        )
    if done.n_unknown:
        say(f"{counted(done.n_unknown, 'request')} were sent by a version that did not store how to make them again.")
    if first is not None:
        say(
            f"{counted(len(done.differing), 'request')} came out otherwise than sent. The first is step {first.number} "
            f"of turn {first.turn_id}, sent at {first.started_at}."
        )
    return 0 if first is None else 1


async def _replay_file(path: Path, setting: _Setting) -> ReplayReport:
    recording = await asyncio.to_thread(load_recording, path)
    async with _replayer(setting) as replayer:
        return await replayer.replay(path, recording, setting.model)


async def _show(path: Path, setting: _Setting, message_id: int) -> str:
    recording = await asyncio.to_thread(load_recording, path)
    async with _replayer(setting) as replayer:
        return await replayer.page_before(path, recording, setting.model, message_id)


@contextlib.asynccontextmanager
async def _replayer(setting: _Setting) -> AsyncIterator[Replayer]:
    """A replayer with a temporary store."""
    with tempfile.TemporaryDirectory(prefix="palimpsest-replay-") as directory:
        store = await open_store(Path(directory))
        try:
            engine = ContextEngine(
                Leases(store, Background()),
                setting.models,
                Tokenizers(setting.cache),
                setting.models.settings.context,
                always(load_frame()),
                lambda _: None,
            )
            yield Replayer(store, engine)
        finally:
            await store.close()


def print_reports(reports: Iterator[ReplayReport], *, as_json: bool) -> int:
    """Print each report as it comes, then the sums. Return the exit code: 1 when an invariant is violated anywhere."""
    printed: list[ReplayReport] = []
    if not as_json:
        _print_row("session", *_COLUMNS)
    for report in reports:
        printed.append(report)
        if as_json:
            shares = {name: round(getattr(report, name), 4) for name in ("prefix_share", "price_ratio")}
            say_json(dataclasses.asdict(report) | shares)
        else:
            _print_report(report)
        sys.stdout.flush()
    if not as_json:
        _print_sums(printed)
    return 1 if any(report.violations for report in printed) else 0


def _print_report(report: ReplayReport) -> None:
    _print_figures(report.session[:40], [report])
    for each in report.breaks:
        say(
            f"    prefix broken before message {each.before} of {report.session}: compaction by {each.cause}, "
            f"{each.kept_tokens:,} of {each.total_tokens:,} tokens kept"
        )
    for violation in report.violations:
        say(f"    BROKEN {violation}")


def _print_sums(reports: Sequence[ReplayReport]) -> None:
    if len(reports) > 1:
        _print_figures(f"all {counted(len(reports), 'session')}", reports)
        long = [report for report in reports if report.n_exchanges >= _LONG]
        if long:
            _print_figures(f"{len(long)} with at least {_LONG} exchanges", long)
            lowest = min(long, key=lambda report: report.prefix_share)
            dearest = max(long, key=lambda report: report.price_ratio)
            say(
                f"    of these, the lowest prefix: {lowest.prefix_share:.1%} ({lowest.session}); "
                f"the highest ratio: {dearest.price_ratio:.2f} ({dearest.session})"
            )
    if reports:
        say(
            f"Prices count prompt tokens: {CACHE_READ} for a token of the unchanged prefix, {CACHE_WRITE} for others. "
            "newest-1st: the price of sending only the newest exchanges that fit. ratio: price / newest-1st."
        )


def _print_figures(name: str, reports: Sequence[ReplayReport]) -> None:
    """Print one row: the sums of the reports."""
    compactions = Counter[str]()
    for report in reports:
        compactions.update(report.compactions)
    prompt, unchanged = (sum(getattr(each, f"{kind}_tokens") for each in reports) for kind in ("prompt", "unchanged"))
    price, newest_first = sum(each.price for each in reports), sum(each.newest_first_price for each in reports)
    _print_row(
        name,
        *(f"{sum(getattr(each, f'n_{kind}') for each in reports)}" for kind in ("messages", "exchanges")),
        f"{sum(each.tokens for each in reports)}",
        f"{sum(each.n_requests for each in reports)}",
        f"{max(each.highest_use for each in reports):.1%}",
        ", ".join(f"{cause} {count}" for cause, count in sorted(compactions.items())) or "none",
        f"{unchanged / prompt if prompt else 1:.1%}",
        f"{price:.0f}",
        f"{newest_first:.0f}",
        f"{price / newest_first if newest_first else 1:.2f}",
        "verified" if all(each.is_verified for each in reports) else "BROKEN",
    )


def _print_row(session: str, *columns: str) -> None:
    say(f"{session:<40} " + " ".join(f"{column:>12}" for column in columns))
