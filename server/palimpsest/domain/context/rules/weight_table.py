"""The weights of a trained model, small in memory: a table of hashes in place of the features' texts.

A model has ten to fifty thousand features. As a dict of texts the models of the five languages take 25 MiB, as tables
2. Two features of one hash are one feature: among 50,000 that happens to a handful, and to a feature that no model
knows once in 80,000.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Self
from zlib import crc32

_KEY, _WEIGHT = "I", "h"
_KEY_BYTES: Final = 4
_WEIGHT_BYTES: Final = 2


@dataclass(frozen=True, slots=True)
class WeightTable:
    """Weights in hundredths, by the hash of the feature."""

    keys: array[int]
    """Ascending."""
    weights: array[int]
    """In their order."""

    @classmethod
    def of(cls, weights: Mapping[str, int]) -> Self:
        hashed = sorted({_hash(feature): weight for feature, weight in weights.items()}.items())
        return cls(array(_KEY, (key for key, _ in hashed)), array(_WEIGHT, (weight for _, weight in hashed)))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The inverse of `to_bytes`."""
        n = len(data) // (_KEY_BYTES + _WEIGHT_BYTES)
        keys, weights = array(_KEY, data[: n * _KEY_BYTES]), array(_WEIGHT, data[n * _KEY_BYTES :])
        _turn(keys, weights)
        return cls(keys, weights)

    def to_bytes(self) -> bytes:
        """Little endian: all keys, then all weights."""
        keys, weights = self.keys[:], self.weights[:]
        _turn(keys, weights)
        return keys.tobytes() + weights.tobytes()

    def __len__(self) -> int:
        return len(self.keys)

    def __contains__(self, feature: str) -> bool:
        key = _hash(feature)
        at = bisect_left(self.keys, key)
        return at < len(self.keys) and self.keys[at] == key

    def total(self, features: Iterable[str]) -> int:
        """The sum of the weights of the features; one that the model does not know weighs nothing."""
        keys, weights, found = self.keys, self.weights, 0
        n = len(keys)
        for feature in features:
            key = crc32(feature.encode("utf-8", "surrogatepass"))
            at = bisect_left(keys, key)
            if at < n and keys[at] == key:
                found += weights[at]
        return found


def _hash(feature: str) -> int:
    return crc32(feature.encode("utf-8", "surrogatepass"))


def _turn(*arrays: array[int]) -> None:
    """Between the order of bytes of this machine and little endian."""
    if sys.byteorder == "big":
        for each in arrays:
            each.byteswap()
