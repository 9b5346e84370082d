"""What a picture takes of a window is what its service publishes, and what was measured at the services."""

from __future__ import annotations

import pytest

from palimpsest.data import load_model_table
from palimpsest.domain.messages import Digest, ImagePart
from palimpsest.domain.models.images import ASSUMED, Crops, Fixed, ImageTokens, Tiles, image_tokens

PUBLISHED = [
    # platform.openai.com, "Images and vision", read 2026-11-27.
    ("gpt-4o", 1_024, 1_024, 765),
    ("gpt-4o", 2_048, 4_096, 1_105),
    ("gpt-5", 1_024, 1_024, 630),
    ("gpt-5-nano", 1_024, 1_024, 2_520),
    # platform.claude.com, "Vision", read 2026-11-27: about width x height / 750.
    ("claude-sonnet-4-5", 200, 200, 54),
    ("claude-sonnet-4-5", 1_000, 1_000, 1_334),
    ("claude-sonnet-4-5", 1_092, 1_092, 1_590),
    # ai.google.dev, "Understand and count tokens" and "Media resolution", read 2026-11-27.
    ("gemini-2.5-flash", 384, 384, 258),
    ("gemini-2.5-flash", 960, 540, 6 * 258),
    ("gemini-3.6-flash", 1_920, 1_080, 1_120),
]
"""Model, width, height, tokens."""
MEASURED = [
    # A public table of what the services said of one picture, without the 77 and 65 tokens around it.
    ("claude-opus-5-5", 256, 256, 177 - 77),
    ("claude-opus-5-5", 512, 512, 438 - 77),
    ("claude-opus-5-5", 1_024, 1_024, 1_446 - 77),
    ("claude-opus-5-5", 1_280, 720, 1_273 - 77),
    ("claude-opus-5-5", 1_920, 1_080, 2_768 - 77),
    ("claude-haiku-4-5", 1_280, 720, 1_261 - 65),
    ("claude-haiku-4-5", 1_920, 1_080, 1_625 - 65),
    ("gpt-6.2-sol", 1_024, 1_024, 1_229),
    ("gpt-6.2-sol", 1_920, 1_080, 2_448),
    ("gemini-3.6-flash", 1_280, 720, 1_101),
]


@pytest.mark.parametrize(("model", "width", "height", "tokens"), PUBLISHED + MEASURED)
def test_a_picture_takes_what_its_service_says(model: str, width: int, height: int, tokens: int) -> None:
    found = load_model_table().find(model)
    assert found is not None
    assert found.images is not None
    share = 0.05 if width >= 384 else 0.2  # a few squares are more or less than their share of the area
    assert found.images.tokens(width, height) == pytest.approx(tokens, rel=share)


@pytest.mark.parametrize("rule", [ASSUMED, Tiles(85, 170), Crops(), Fixed(1_120)])
@pytest.mark.parametrize(("width", "height"), [(1, 1), (1, 2_000), (2_000, 1), (2_000, 2_000), (33, 1_999)])
def test_every_shape_takes_something_and_never_without_bound(rule: ImageTokens, width: int, height: int) -> None:
    n_tokens = rule.tokens(width, height)
    assert 0 < n_tokens == rule.tokens(height, width)
    assert n_tokens <= 5_000


def test_a_model_that_sees_nothing_takes_nothing_and_an_unknown_one_is_assumed_to_see() -> None:
    part = ImagePart("a.png", Digest("0" * 64), "image/png", 1_000, 500, 10)
    table = load_model_table()
    offline, unknown = table.find("offline"), table.unknown("whatever")
    assert offline is not None
    assert image_tokens([part], offline.images) == 0
    assert image_tokens([part, part], unknown.images) == 2 * 36 * 18
