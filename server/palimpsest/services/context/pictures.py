"""The pictures of a request: their bytes, which are read when it is sent.

A prepared context names pictures by their digests, so it is proven, shown and kept without their bytes.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from palimpsest.domain.context.prepared import PreparedContext
from palimpsest.domain.messages import PICTURE_TYPES, Digest
from palimpsest.domain.models.limits import Model
from palimpsest.storage import contents
from palimpsest.storage.store import Store

MAX_BYTES: Final = 20 * 1024 * 1024
"""The most bytes of pictures in one request, the newest first: Anthropic takes 32 MB of base64 and text together
(platform.claude.com, "Vision", read 2026-11-27)."""


async def with_pictures(store: Store, context: PreparedContext, model: Model) -> PreparedContext:
    """The request with the bytes of its pictures, as far as they are here; unchanged for a model that sees none."""
    images = [image for content in context.messages for image in content.images if image.media_type in PICTURE_TYPES]
    wanted: dict[Digest, int] = {image.digest: image.size_bytes for image in reversed(images)}
    if not wanted or model.images is None:
        return context
    room, taken = MAX_BYTES, list[Digest]()
    for digest, size in wanted.items():
        room -= size
        if room < 0:
            break
        taken.append(digest)
    return replace(context, pictures=await store.read(_read, taken))


def _read(digests: Sequence[Digest]) -> dict[Digest, str]:
    found = ((digest, contents.read(digest)) for digest in digests)
    return {digest: base64.b64encode(data).decode("ascii") for digest, data in found if data is not None}
