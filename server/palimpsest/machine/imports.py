"""Imports in half the time: what Python compiles from texts at each import is kept from one start to the next.

`attrs` and `dataclasses` write the methods of a class as text and compile it, and `re` compiles each pattern; for the
types of the protocol and for our own modules that is half of a server's start. Python keeps the compiled code of
modules in `__pycache__`; what is compiled here is kept in a file beside it, under the same rules: it is written where
the code of modules may be, and where it cannot be written, each start compiles. A piece is found by the digest of its
whole text, so a changed class is compiled anew.

The three compile through a global name of their own module, which is hidden during the imports. A later Python or attrs
that no longer uses that name compiles as ever.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import hashlib
import importlib.util
import itertools
import linecache
import marshal
import os
import re
import sys
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any, Final

import attr._make

_patterns: Final[Any] = vars(re)["_compiler"]
_HEADER: Final = b"%s %d\n" % (importlib.util.MAGIC_NUMBER, _patterns.MAGIC)
"""Of the code of this Python, and of its patterns."""
_SUM_BYTES: Final = 4
_FEW: Final = 0.02
"""The share of texts that may be compiled at each start before the file is written anew: attrs writes a number of this
process into each class that can be hashed."""

_Places = dict[bytes, tuple[int, int]]
"""Where each piece begins and ends, by the digest of its text. A piece is the code of a text, or the arguments that
make a pattern."""

_is_used: Final = threading.Lock()


@contextlib.contextmanager
def fast_imports(name: str) -> Iterator[None]:
    """Keeps what is compiled within, in every thread, in the file of that name; the garbage collector waits meanwhile.

    Only imports belong within: patterns that are made of a user's words would stand in the file. Of two threads that
    import at once, one compiles as ever.
    """
    if not _is_used.acquire(blocking=False):
        yield
        return
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        with _kept(name, None):
            yield
        linecache.clearcache()  # attrs leaves the text of each class there, for debuggers
    finally:
        gc.freeze()  # modules stay, so the collector need not look at them
        if is_collecting:
            gc.enable()
        _is_used.release()


@contextlib.contextmanager
def kept_patterns(name: str) -> Iterator[None]:
    """Keeps the patterns that this thread compiles within, as `fast_imports` does. Other threads, whose patterns may be
    made of a user's words, compile theirs as ever. Waits while another thread is in here or imports."""
    with _is_used, _kept(name, threading.get_ident()):
        yield


@contextlib.contextmanager
def _kept(name: str, thread: int | None) -> Iterator[None]:
    """`thread`: the only one whose texts are kept; None for all."""
    file = _file(name)
    texts = _Texts(*_read(file), thread)
    with texts.in_use():
        yield
    if len(texts.compiled) > _FEW * len(texts.used) and not sys.dont_write_bytecode:
        with contextlib.suppress(OSError):
            _write(file, texts.pieces())


class _Texts:
    """What is compiled while it is in use."""

    def __init__(self, places: _Places, content: bytes, only: int | None) -> None:
        self._places, self._content, self._only = places, memoryview(content), only
        self.used: set[bytes] = set()
        """The keys of all that was asked for."""
        self.compiled: dict[bytes, bytes] = {}
        """The pieces that were not kept."""
        self._compile_pattern = _patterns.compile
        self._make_pattern = _patterns._sre.compile
        self._thread = threading.local()
        """`arguments`: of the pattern that this thread compiled last."""

    def pieces(self) -> dict[bytes, bytes]:
        """All that was used."""
        kept = {key: bytes(self._content[slice(*self._places[key])]) for key in self.used & self._places.keys()}
        return kept | self.compiled

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        with (
            _hidden(attr._make, "compile", self._code),
            _hidden(dataclasses, "exec", self._exec),
            _hidden(_patterns, "_sre", SimpleNamespace(**vars(_patterns._sre) | {"compile": self._noted})),
            _hidden(_patterns, "compile", self._pattern),
        ):
            yield

    def _code(self, text: str, name: str, mode: str) -> CodeType:
        """As the builtin `compile` without its other arguments."""
        if self._is_another_thread():
            return compile(text, name, mode, dont_inherit=True)
        key = _digest("code", name, text)
        code: CodeType | None = self._find(key)
        if code is None:
            code = compile(text, name, mode, dont_inherit=True)
            self.compiled[key] = marshal.dumps(code)
        return code

    def _exec(self, text: str, globals_: dict[str, Any], locals_: dict[str, Any]) -> None:
        """As the builtin `exec` of a text."""
        exec(self._code(text, "<string>", "exec"), globals_, locals_)

    def _pattern(self, text: Any, flags: int = 0) -> Any:
        """As `re._compiler.compile`."""
        if not isinstance(text, str | bytes) or self._is_another_thread():  # the former: what is already parsed
            return self._compile_pattern(text, flags)
        key = _digest("pattern", str(int(flags)), repr(text))
        arguments = self._find(key)
        if arguments is not None:
            return self._make_pattern(*arguments)
        pattern = self._compile_pattern(text, flags)
        self.compiled[key] = marshal.dumps(self._thread.arguments)
        return pattern

    def _noted(self, text: Any, flags: int, code: list[int], *groups: Any) -> Any:
        """As `_sre.compile`, which makes a pattern of its code."""
        self._thread.arguments = (text, int(flags), list(map(int, code)), *groups)
        return self._make_pattern(text, flags, code, *groups)

    def _is_another_thread(self) -> bool:
        return self._only not in (None, threading.get_ident())

    def _find(self, key: bytes) -> Any:
        """The piece; None when it is not kept."""
        self.used.add(key)
        place = self._places.get(key)
        return None if place is None else marshal.loads(self._content[slice(*place)])


@contextlib.contextmanager
def _hidden(module: ModuleType, name: str, by: object) -> Iterator[None]:
    """Within, the module finds `by` under the name instead of its own global or a builtin."""
    names = vars(module)
    before = names.get(name)
    names[name] = by
    try:
        yield
    finally:
        if before is None:
            del names[name]
        else:
            names[name] = before


def _file(name: str) -> Path:
    """In the folder where Python keeps the code of this module."""
    folder = Path(importlib.util.cache_from_source(__file__)).parent
    return folder / f"{name}.{sys.implementation.cache_tag}.texts"


def _digest(*words: str) -> bytes:
    return hashlib.blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _read(file: Path) -> tuple[_Places, bytes]:
    """The places of the pieces, and the text that they are places in; empty when there is no sound file of this
    Python."""
    try:
        content = memoryview(file.read_bytes())
    except OSError:
        return {}, b""
    start = len(_HEADER) + _SUM_BYTES
    if content[: len(_HEADER)] != _HEADER or content[len(_HEADER) : start] != _checksum(content[start:]):
        return {}, b""
    places, pieces = marshal.loads(content[start:])
    return places, pieces


def _write(file: Path, pieces: dict[bytes, bytes]) -> None:
    ends = list(itertools.accumulate(map(len, pieces.values()), initial=0))
    places = dict(zip(pieces, itertools.pairwise(ends), strict=True))
    content = marshal.dumps((places, b"".join(pieces.values())))
    scratch = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        scratch.write_bytes(_HEADER + _checksum(content) + content)
        os.replace(scratch, file)
    finally:
        scratch.unlink(missing_ok=True)


def _checksum(content: bytes | memoryview) -> bytes:
    return zlib.crc32(content).to_bytes(_SUM_BYTES, "big")
