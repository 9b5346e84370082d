"""What enters as a picture is one, is bounded, and keeps nothing but what can be seen."""

from __future__ import annotations

import contextlib
import hashlib
import io
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image, ImageStat, PngImagePlugin

from palimpsest.domain.errors import InvalidRequest
from palimpsest.services.chat.attachments import FileAttachment, PictureAttachment, take_snapshots
from palimpsest.services.workspace import pictures
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.pictures import LONGEST_EDGE, MAX_BYTES, MAX_PIXELS, format_of, take
from palimpsest.services.workspace.texts import WorkspaceTexts


def made(format_name: str, size: tuple[int, int] = (64, 32), mode: str = "RGB", **options: object) -> bytes:
    out = io.BytesIO()
    Image.new(mode, size, "red" if mode in ("RGB", "RGBA") else 1).save(out, format_name, **options)
    return out.getvalue()


def seen(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def mean_of(data: bytes) -> list[float]:
    """The mean of each of red, green and blue."""
    return ImageStat.Stat(seen(data).convert("RGB")).mean


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few bytes that says it is large."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1_000))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize(
    ("format_name", "media_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/jpeg"), ("GIF", "image/png")],
)
def test_each_format_is_told_by_its_bytes_and_kept_in_one_that_every_service_takes(
    format_name: str, media_type: str
) -> None:
    data = made(format_name)
    assert format_of(data) == format_name
    kept = take("misnamed.txt", data)
    assert (kept.part.media_type, kept.part.width, kept.part.height) == (media_type, 64, 32)
    assert kept.part.digest == hashlib.sha256(kept.data).hexdigest()
    assert kept.part.size_bytes == len(kept.data)
    assert mean_of(kept.data)[0] > 240
    assert max(mean_of(kept.data)[1:]) < 10
    assert take("again", data).data == kept.data


def test_what_a_file_says_beside_its_picture_is_left_behind_and_it_is_turned_first() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    exif[0x010E] = "SECRET-PLACE"
    data = made("JPEG", (64, 32), exif=exif, comment=b"SECRET-COMMENT")
    assert b"SECRET" in data
    kept = take("photo.jpg", data)
    assert b"SECRET" not in kept.data
    assert (kept.part.width, kept.part.height) == (32, 64)
    assert not seen(kept.data).getexif()
    said = PngImagePlugin.PngInfo()
    said.add_text("Comment", "SECRET-TEXT")
    drawn = made("PNG", pnginfo=said)
    assert b"SECRET" in drawn
    assert b"SECRET" not in take("drawn.png", drawn).data


def test_of_one_that_moves_the_first_frame_is_kept_and_its_name_says_so() -> None:
    out = io.BytesIO()
    frames = [Image.new("RGB", (20, 10), color) for color in ("red", "blue")]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    kept = take("spin.gif", out.getvalue())
    assert kept.part.label == "spin.gif (its first frame)"
    assert mean_of(kept.data) == [255, 0, 0]


def test_a_large_picture_is_scaled_and_a_small_one_is_not() -> None:
    assert (
        take("wide", made("PNG", (5_000, 100))).part.width,
        take("wide", made("PNG", (5_000, 100))).part.height,
    ) == (
        LONGEST_EDGE,
        40,
    )
    assert take("thin", made("PNG", (1, 4_000))).part.width == 1
    assert take("dot", made("PNG", (1, 1))).part.height == 1


def test_what_can_be_seen_through_stays_so_and_odd_colors_become_usual_ones() -> None:
    assert seen(take("a", made("PNG", mode="RGBA")).data).mode == "RGBA"
    for mode in ("L", "P", "1", "CMYK", "I;16"):
        name = "JPEG" if mode == "CMYK" else "PNG"
        assert seen(take("a", made(name, mode=mode)).data).mode == "RGB"


def test_no_kept_picture_is_larger_than_services_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_MAX_KEPT_BYTES", 20_000)
    noise = Image.effect_noise((600, 600), 200).convert("RGBA")
    out = io.BytesIO()
    noise.save(out, "PNG")
    kept = take("noise", out.getvalue())
    assert len(kept.data) <= 20_000
    assert kept.part.width < 600


HOSTILE = {
    "a bomb": (bomb(30_000, 30_000), "pixels"),
    "a smaller bomb": (bomb(9_000, 9_000), "pixels"),
    "a lie about its size": (bomb(500, 500), "damaged"),
    "a cut one": (made("PNG", (500, 500))[:300], "damaged"),
    "a cut photo": (made("JPEG", (500, 500))[:200], "damaged"),
    "only a head": (b"\x89PNG\r\n\x1a\n", "damaged"),
    "a GIF of nothing": (b"GIF89a" + bytes(20), "damaged"),
    "a GIF that ends in its second frame": (made("GIF")[:-1] + b",\0\0", "damaged"),
    "a GIF that ends in an extension": (made("GIF")[:-1] + b"!\xf9\1\0\0", "damaged"),
    "a GIF without a trailer": (made("GIF")[:-1] + b"!", "damaged"),
    "a WebP of nothing": (b"RIFF\xff\xff\xff\xffWEBPVP8 ", "damaged"),
    "SVG": (b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "no PNG"),
    "TIFF": (made("TIFF"), "no PNG"),
    "BMP": (made("BMP"), "no PNG"),
    "text": (b"hello", "no PNG"),
    "nothing": (b"", "no PNG"),
    "60 MB": (b"\xff\xd8\xff" + bytes(60_000_000), "at most 20,971,520"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_whole_picture_is_refused_with_the_reason(name: str) -> None:
    data, reason = HOSTILE[name]
    with pytest.raises(InvalidRequest, match=reason) as refused:
        take("x.png", data)
    assert "'x.png'" in str(refused.value)
    assert (MAX_BYTES, MAX_PIXELS) == (20_971_520, 40_000_000)


@pytest.mark.parametrize("damage", range(0, 400, 7))
def test_a_damaged_picture_is_taken_or_refused_and_nothing_else(damage: int) -> None:
    for whole in (made("PNG"), made("JPEG"), made("GIF"), made("WEBP")):
        data = bytearray(whole)
        data[12 + damage % (len(data) - 12)] ^= 0x5A
        with contextlib.suppress(InvalidRequest):
            assert take("x", bytes(data)).part.width > 0


async def test_a_picture_follows_the_rules_for_files(tmp_path: Path) -> None:
    root = tmp_path / "folder"
    root.mkdir()
    for name in ("ok.png", "ignored.png", "id_rsa"):
        (root / name).write_bytes(made("PNG"))
    (root / ".gitignore").write_text("ignored.png\n")
    (tmp_path / "outside.png").write_bytes(made("PNG"))
    texts = WorkspaceTexts(WorkspaceFiles(root), {})
    names = ("ok.png", "ignored.png", "id_rsa", "../outside.png", str(tmp_path / "outside.png"))
    found = await take_snapshots(texts, [FileAttachment(name) for name in names])
    assert [each.picture is not None for each in found] == [True, False, False, False, False]
    (named,) = await take_snapshots(texts, [PictureAttachment("id_rsa", made("PNG"))])
    assert "secret" in (named.problem or "")
