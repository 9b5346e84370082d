"""Pictures as they enter: judged by their own bytes, made harmless, and brought into the one form that is kept.

PNG, JPEG, WebP and GIF come in; PNG and JPEG are kept, because every service takes those. What a file says beside its
picture (places, cameras, comments) is left behind, after the picture was turned as it says. The longer edge has at most
2,000 pixels: no service shows its model more, but for the newest, and some refuse more where a request has many.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import Digest, ImagePart, clean_text

if TYPE_CHECKING:  # Pillow is loaded when the first picture comes
    from PIL import Image

MAX_BYTES: Final = 20 * 1024 * 1024
"""The largest file, in bytes."""
MAX_PIXELS: Final = 40_000_000
"""The most pixels that are decoded; a picture of four bytes each then takes 160 MB."""
LONGEST_EDGE: Final = 2_000
_GOOD_BYTES: Final = 1_500_000
"""A PNG above it is kept as a JPEG, where that is smaller."""
_MAX_KEPT_BYTES: Final = 3_500_000
"""In base64 less than the 5 MB that Anthropic takes of one picture (platform.claude.com, "Vision", read 2026-11-27)."""
_QUALITY: Final = 90
_HEADS: Final = ((b"\x89PNG\r\n\x1a\n", "PNG"), (b"\xff\xd8\xff", "JPEG"), (b"GIF87a", "GIF"), (b"GIF89a", "GIF"))


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture in the form that is kept."""

    part: ImagePart
    data: bytes


def format_of(data: bytes) -> str | None:
    """The name of the picture's format, by its first bytes; None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "WEBP"
    return next((name for head, name in _HEADS if data.startswith(head)), None)


def take(label: str, data: bytes) -> Picture:
    """The picture in the form that is kept. Blocks for up to some seconds. Raises InvalidRequest, with the reason."""
    label = " ".join(clean_text(label)[0].split())[:300] or "picture"
    name = format_of(data)
    if name is None:
        raise InvalidRequest(f"{label!r} is no PNG, JPEG, WebP or GIF picture. Convert it, then attach it again.")
    if len(data) > MAX_BYTES:
        raise InvalidRequest(
            f"{label!r} has {len(data):,} bytes, but a picture may have at most {MAX_BYTES:,}. Attach a smaller one."
        )
    return _decoded(label, name, data)


def _decoded(label: str, name: str, data: bytes) -> Picture:
    from PIL import Image, ImageOps

    warnings.filterwarnings("error", category=Image.DecompressionBombWarning)
    bombs = (Image.DecompressionBombError, Image.DecompressionBombWarning)
    try:
        with Image.open(io.BytesIO(data), formats=(name,)) as opened:
            if opened.width * opened.height > MAX_PIXELS:
                raise Image.DecompressionBombError
            is_moving = bool(getattr(opened, "is_animated", False))
            opened.draft("RGB", (LONGEST_EDGE, LONGEST_EDGE))  # of a JPEG no more is decoded than is needed
            shown = ImageOps.exif_transpose(opened)
            has_alpha = shown.has_transparency_data
            plain = shown.convert("RGBA" if has_alpha else "RGB")
            plain.info.clear()  # comments and profiles, which would be written again
    except bombs:
        raise InvalidRequest(
            f"{label!r} has over {MAX_PIXELS:,} pixels. Scale it down, then attach it again."
        ) from None
    except Exception:  # the library also raises IndexError, struct.error and others for files that are cut
        raise InvalidRequest(f"{label!r} is damaged, or no whole picture, so it is not attached.") from None
    plain.thumbnail((LONGEST_EDGE, LONGEST_EDGE), Image.Resampling.LANCZOS)
    kept, media_type = _encoded(plain, is_photo=name in ("JPEG", "WEBP") and not has_alpha)
    while len(kept) > _MAX_KEPT_BYTES:
        plain = plain.resize((max(1, plain.width * 3 // 4), max(1, plain.height * 3 // 4)), Image.Resampling.LANCZOS)
        kept, media_type = _encoded(plain, is_photo=not has_alpha)
    if is_moving:
        label = f"{label} (its first frame)"
    return Picture(ImagePart(label, _digest(kept), media_type, plain.width, plain.height, len(kept)), kept)


def _encoded(picture: Image.Image, *, is_photo: bool) -> tuple[bytes, str]:
    if is_photo:
        return _saved(picture, "JPEG", quality=_QUALITY), "image/jpeg"
    whole = _saved(picture, "PNG")
    if len(whole) <= _GOOD_BYTES or picture.mode != "RGB":
        return whole, "image/png"
    photo = _saved(picture, "JPEG", quality=_QUALITY)
    return (photo, "image/jpeg") if len(photo) < len(whole) else (whole, "image/png")


def _saved(picture: Image.Image, format_name: str, **options: int) -> bytes:
    out = io.BytesIO()
    picture.save(out, format_name, **options)
    return out.getvalue()


def _digest(data: bytes) -> Digest:

    return Digest(hashlib.sha256(data).hexdigest())
