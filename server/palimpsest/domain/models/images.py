"""What a picture takes of a model's window, by the formula that its service publishes.

A count of a message's text holds for every model with that tokenizer; what its pictures take depends on the model
alone, and is in the model's own tokens. Pictures are stored with at most 2,000 pixels on the longer edge.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from palimpsest.domain.messages import ImagePart


@dataclass(frozen=True, slots=True)
class Patches:
    """A token for each square of the picture, which is first scaled down to the most squares and the longest edge.

    Claude (platform.claude.com, "Vision", excerpts read 2026-11-27): squares of 28 pixels, which its older words
    "width x height / 750" come near to; at most 1,568 pixels and as many tokens, or 2,576 and 4,784 for later models.
    OpenAI (platform.openai.com, "Images and vision", by what others quoted of it until 2026-11-27): squares of 32
    pixels, at most 1,536, or 2,500 for later models at detail `high`, times the model's multiplier. For the small
    models of GPT-5 users measured 1.2 and 1.5 where the page says 1.62 and 2.46; the page's are taken, which are safe.
    """

    edge: int
    most: int
    longest: int
    multiplier: float = 1.0

    def tokens(self, width: int, height: int) -> int:
        scale = min(1.0, self.longest / max(width, height))
        n_patches = self._n(width * scale, height * scale)
        if n_patches > self.most:
            scale *= math.sqrt(self.most * self.edge**2 / (width * height * scale**2))
            n_patches = min(self._n(width * scale, height * scale), self.most)
        return math.ceil(n_patches * self.multiplier)

    def _n(self, width: float, height: float) -> int:
        return math.ceil(round(width, 6) / self.edge) * math.ceil(round(height, 6) / self.edge)


@dataclass(frozen=True, slots=True)
class Tiles:
    """OpenAI's older models at detail `high` (platform.openai.com, "Images and vision", by what others quoted of it
    until 2026-11-27).

    The picture is scaled into 2,048 x 2,048, then down to 768 on the shorter edge. It takes a fixed number of tokens,
    and some for each tile of 512 x 512.
    """

    base: int
    tile: int

    def tokens(self, width: int, height: int) -> int:
        scale = min(1.0, 2_048 / max(width, height))
        scale = min(scale, 768 / min(width, height)) if min(width, height) * scale > 768 else scale
        n_tiles = math.ceil(round(width * scale) / 512) * math.ceil(round(height * scale) / 512)
        return self.base + self.tile * n_tiles


@dataclass(frozen=True, slots=True)
class Crops:
    """Gemini 2 (ai.google.dev, "Understand and count tokens", by what others quoted of it until 2026-11-27): 258
    tokens for a picture within 384 x 384, else for each crop, which is two thirds of the shorter edge, between 256 and
    768 pixels."""

    crop: int = 258

    def tokens(self, width: int, height: int) -> int:
        if max(width, height) <= 384:
            return self.crop
        unit = min(max(int(min(width, height) / 1.5), 256), 768)
        return self.crop * math.ceil(width / unit) * math.ceil(height / unit)


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same for every picture.

    Gemini 3 and later (ai.google.dev, "Media resolution", by what others quoted of it until 2026-11-27): at most
    1,120 tokens unless the request asks for less.
    """

    each: int

    def tokens(self, width: int, height: int) -> int:
        return self.each


ImageTokens = Patches | Tiles | Crops | Fixed

ASSUMED: Final = Patches(28, 4_784, 2_576)
"""Of a model whose service publishes no formula, such as those of Ollama and of most services that imitate OpenAI: what
Qwen-VL takes, and more than most others do."""


def read_rule(entry: Mapping[str, Any]) -> ImageTokens:
    """The rule of an entry of `image_rules` in `models.json`."""
    kind: Literal["patches", "tiles", "crops", "fixed"] = entry["kind"]
    match kind:
        case "patches":
            return Patches(entry["edge"], entry["most"], entry["longest"], entry.get("multiplier", 1.0))
        case "tiles":
            return Tiles(entry["base"], entry["tile"])
        case "crops":
            return Crops()
        case "fixed":
            return Fixed(entry["each"])


def image_tokens(images: Iterable[ImagePart], rule: ImageTokens | None) -> int:
    """The tokens of the pictures. `rule`: None for a model that sees none, which gets a line of text for each."""
    return 0 if rule is None else sum(rule.tokens(each.width, each.height) for each in images)
