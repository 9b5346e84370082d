"""What a user is told about an `@` that reads like the name of a file, but of which nothing is attached."""

from __future__ import annotations

import asyncio
import functools
import itertools
import os
import re
from collections.abc import Callable, Sequence
from typing import Final

from palimpsest.domain.errors import InvalidRequest, NotFound
from palimpsest.services.workspace.files import Found, PlaceKind
from palimpsest.services.workspace.texts import WorkspaceTexts
from palimpsest.wording import nearest

_MOST_NAMES: Final = 5_000
"""The most files of the folder that a name is compared with; those nearest to the root come first."""
_MOST_REMARKS: Final = 3
"""For one message, which waits for them: each takes some tenths of a second in a large folder."""
_PATH: Final = re.compile(r"[\w./ +-]*[\w/]")
_LINES: Final = re.compile(r":\d{1,9}(?:-\d{1,9})?\Z")


async def remarks_on(texts: WorkspaceTexts, names: Sequence[str]) -> list[str]:
    """The sentences about the first mentions that stay plain text: why the file is not attached, or which file may be
    meant. None about a name that no file of the folder suggests, because people write an `@` for much else."""
    return await asyncio.to_thread(_remarks, texts, [_LINES.sub("", name) for name in names[:_MOST_REMARKS]])


def _remarks(texts: WorkspaceTexts, names: Sequence[str]) -> list[str]:
    walk = functools.cache(lambda: list(itertools.islice(texts.files.walk(), _MOST_NAMES)))
    return [remark for name in names if (remark := _remark(texts, name, walk)) is not None]


def _remark(texts: WorkspaceTexts, name: str, walk: Callable[[], list[Found]]) -> str | None:
    path = name.rstrip("/")
    if not _PATH.fullmatch(name) or not path:
        return None
    try:
        kind = texts.files.locate(path).kind
        if kind is PlaceKind.FOLDER:
            return f"@{name} is a folder, and nothing of it is attached: @{path}/ attaches it."
        if kind is not PlaceKind.MISSING:
            texts.look(path)
            return None  # it has come meanwhile
    except NotFound:
        pass
    except InvalidRequest as error:
        return f"@{name} is not attached: {error}" if texts.files.has(path) else None
    files = walk()
    near = _near(path, [each.path for each in files])
    if near:
        return f"There is no {name!r} in this folder, so nothing is attached. Did you mean {' or '.join(near)}?"
    begins_as_a_folder = "/" in path and any(each.is_folder and each.path == path.partition("/")[0] for each in files)
    ending = os.path.splitext(path)[1]
    ends_as_a_file = bool(ending) and any(each.path.endswith(ending) for each in files if not each.is_folder)
    if begins_as_a_folder or ends_as_a_file:
        return f"There is no {name!r} in this folder, so nothing is attached."
    return None


def _near(written: str, paths: list[str]) -> list[str]:
    """The mentions that `written` may misspell: by their path, or by their last name alone."""
    by_name: dict[str, str] = {}
    for path in paths:
        by_name.setdefault(path.rpartition("/")[2], path)
    found = nearest(written, paths) or [by_name[name] for name in nearest(written, by_name)]
    return [f"@{path}" for path in found]
