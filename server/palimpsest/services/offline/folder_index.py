"""A full-text index of the text files of one workspace folder. Each search brings it up to date first.

`workspace.files` decides which files may be read. The index leaves out binary, empty and large files and private keys
as well. It is in memory, and the limits below bound it.
"""

from __future__ import annotations

from pathlib import Path
from threading import Event, Lock
from typing import Final

from palimpsest.domain.deny_list import holds_private_key
from palimpsest.domain.facts.retrieval.words import Terms
from palimpsest.domain.offline.places import MOST_FILES, Found, Hit, Place, best_of_each_file, file_place, without_marks
from palimpsest.services.workspace.files import WorkspaceFiles, stamp_of
from palimpsest.storage.text_index import LINES, TextIndex, lines_of

MAX_FILE_BYTES: Final = 1024 * 1024
"""Larger files are left out."""
MAX_FILES: Final = 5_000
MAX_TOTAL_BYTES: Final = 32 * 1024 * 1024
"""The index takes a little more than twice as much memory as the texts: about 70 MiB at the limit."""
MAX_ENTRIES: Final = 200_000
"""The most names that a search looks at, so that a folder of a million pictures does not take minutes."""
_BINARY_PROBE_BYTES: Final = 8 * 1024
_MOST_HITS: Final = 300


class FolderIndex:
    """The index of one folder. Its method blocks and is safe between threads: one search runs, the others wait."""

    def __init__(self, root: Path) -> None:
        self._files = WorkspaceFiles(root)
        self._index = TextIndex()
        self._lock = Lock()

    def search(self, terms: Terms, is_given_up: Event) -> Found:
        """The best places of the folder as it is now, one for each file, best first. Files that cannot be read are left
        out; a folder that is gone counts as empty. Once `is_given_up` is set, the search stops and finds nothing, and
        the next search goes on with the part that is indexed."""
        with self._lock:
            is_partial = self._update(is_given_up)
            if is_given_up.is_set():
                return Found((), self._index.n_texts(), is_partial)
            wants_tests = any(word.startswith("test") for word in (*terms.telling, *terms.asking))
            best = best_of_each_file(self._index.matches(terms, _MOST_HITS), wants_tests=wants_tests)
            places = (place for hit in best if (place := self._place(hit, terms)) is not None)
            shown = tuple(place for place, _ in zip(places, range(MOST_FILES), strict=False))
            return Found(shown, self._index.n_texts(), is_partial)

    def _update(self, is_given_up: Event) -> bool:
        """Brings the index up to date. True when a limit left out a part of the folder."""
        known = self._index.known()
        gone = set(known)
        n_texts = n_bytes = 0
        walk = self._files.walk(max_entries=MAX_ENTRIES)
        for found in walk:
            if found.is_folder or not 0 < found.status.st_size <= MAX_FILE_BYTES:
                continue
            is_full = n_texts == MAX_FILES or n_bytes + found.status.st_size > MAX_TOTAL_BYTES
            if is_full or is_given_up.is_set():
                break
            path, identity = found.path, stamp_of(found.status)
            before, is_text = known.get(path, (None, False))
            if before != identity:
                text = self._read(found.parts)
                self._index.put(path, identity, text)
                is_text = text is not None
            gone.discard(path)
            n_texts += is_text
            n_bytes += found.status.st_size if is_text else 0
        else:
            is_full = walk.is_truncated
        if not is_given_up.is_set():
            self._index.remove(gone)
        return is_full

    def _read(self, parts: tuple[str, ...]) -> str | None:
        try:
            return _decode(self._files.read_below(parts, MAX_FILE_BYTES))
        except OSError:
            return None

    def _place(self, hit: Hit, terms: Terms) -> Place | None:
        """The place to show for a passage; None when the file has changed or gone since it was indexed."""
        marked = self._index.marked_lines(hit, terms)
        text = self._read(tuple(hit.path.split("/")))
        now = [] if text is None else lines_of(text)[hit.line - 1 : hit.line - 1 + LINES]
        if now != [without_marks(line) for line in marked]:
            return None
        return file_place(hit, marked)


def _decode(data: bytes) -> str | None:
    """The text of a file; None when the file is binary or holds a private key."""
    head = data[:_BINARY_PROBE_BYTES]
    if b"\0" in head or holds_private_key(head):
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
