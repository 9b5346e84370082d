"""`palimpsest replay`: composes the engine around a temporary store, and prints what the replay found."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from palimpsest.app import read_places, user_file
from palimpsest.configuration import load_settings
from palimpsest.data import load_frame, load_model_table
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.limits import with_window
from palimpsest.services.contexts import ContextEngine
from palimpsest.services.models import Models, with_override
from palimpsest.services.recordings import load_recording
from palimpsest.services.replay import Replayer, ReplayReport
from palimpsest.services.tokenizers import Tokenizers
from palimpsest.storage.store import open_store


def replay_files(
    files: Sequence[Path], model_name: str, window: int | None, reserve: int | None, environ: Mapping[str, str]
) -> Iterator[ReplayReport]:
    """Replays each file in a store of its own, which is deleted after. Raises InvalidRequest for broken input."""
    if (window is not None and window < 1) or (reserve is not None and reserve < 1):
        raise InvalidRequest("--window and --reserve are numbers of tokens: they must be at least 1.")
    settings = load_settings(user_file(), None, environ, None)
    settings = replace(settings, context=replace(settings.context, output_limit=reserve))
    models = Models(load_model_table(), {}, {}, settings)
    model = models.get(model_name)
    if window is not None:
        model = with_window(model, window)
        models = with_override(models, model)
    models.budget(model)
    for path in files:
        yield asyncio.run(_replay_file(path, models, model.name, read_places(settings).cache))


async def _replay_file(path: Path, models: Models, model: str, cache: Path) -> ReplayReport:
    recording = await asyncio.to_thread(load_recording, path)
    with tempfile.TemporaryDirectory(prefix="palimpsest-replay-") as directory:
        store = await open_store(Path(directory))
        try:
            engine = ContextEngine(
                store, models, Tokenizers(cache), models.settings.context, load_frame(), lambda _: None
            )
            return await Replayer(store, engine).replay(path, recording, model)
        finally:
            await store.close()


def print_reports(reports: Iterator[ReplayReport], *, as_json: bool) -> int:
    """Prints each report as it comes; 1 when an invariant broke anywhere."""
    n_broken = 0
    if not as_json:
        _print_row("session", "messages", "tokens", "requests", "highest", "re-cuts", "prefix", "digests")
    for report in reports:
        n_broken += bool(report.violations)
        if as_json:
            value = dataclasses.asdict(report) | {"prefix_share": round(report.prefix_share, 4)}
            sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
        else:
            _print_report(report)
        sys.stdout.flush()
    return 1 if n_broken else 0


def _print_report(report: ReplayReport) -> None:
    recuts = ", ".join(f"{cause} {count}" for cause, count in sorted(report.recuts.items())) or "none"
    _print_row(
        report.session[:40],
        f"{report.n_messages}",
        f"{report.tokens}",
        f"{report.n_requests}",
        f"{report.highest_use:.1%}",
        recuts,
        f"{report.prefix_share:.1%}",
        "verified" if report.is_verified else "BROKEN",
    )
    for violation in report.violations:
        sys.stdout.write(f"    BROKEN {violation}\n")


def _print_row(session: str, *columns: str) -> None:
    sys.stdout.write(f"{session:<40} " + " ".join(f"{column:>13}" for column in columns) + "\n")
