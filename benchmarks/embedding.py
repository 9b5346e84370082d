"""What a static embedding would add to retrieval: the product's ranking, with the nearness of word vectors beside it.

    benchmarks.embedding:make [dense=0.6]     as benchmarks.system:make_retrieval, for the same harness

Not a part of the product, and its packages are not among those that the project installs: `wordllama` (only its table
of 256 dimensions and its tokenizer are used, 16 MB), `numpy`, `safetensors` and `tokenizers`. `dense` is the weight of
a nearness that is about 1 for the nearest turn; the best lexical score counts 1. 0 is the product.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.system import make_retrieval

from palimpsest.domain.facts.retrieval import scoring
from palimpsest.services.facts import retrieval
from palimpsest.storage.conversation import passage_search
from palimpsest.storage.sql import execute

_NEAR_WORDS: Final = 50
"""A shorter turn gets the nearest words of its neighbours, up to so many together."""
_NEAR_WEIGHT: Final = 0.6
_POWER: Final = 0.5
"""Of a word's rarity in the conversation."""
_SCALE: Final = 6.0
"""Standard deviations at which a nearness counts 1."""
_MOST: Final = 400


@functools.cache
def _model() -> tuple[Any, Any]:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    found = importlib.util.find_spec("wordllama")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("This measurement needs the package wordllama, whose tables it reads. Install it first.")
    package = Path(found.submodule_search_locations[0])
    tokenizer = Tokenizer.from_file(str(package / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    (table,) = load_file(str(package / "weights" / "l2_supercat_256.safetensors")).values()
    return tokenizer, table


class Nearness:
    """Of a question to the turns of one conversation."""

    def __init__(self, texts: Sequence[str]) -> None:
        import numpy

        self._numpy = numpy
        self._tokenizer, self._table = _model()
        tokens = self._tokens(texts)
        n_turns_with = numpy.zeros(self._table.shape[0], "f4")
        for each in tokens:
            n_turns_with[numpy.unique(each)] += 1
        rarity = numpy.log((len(texts) + 1) / (n_turns_with + 0.5))
        self._rarity = numpy.clip(rarity, 0.05, None).astype("f4") ** _POWER
        near = self._pooled(self._tokens([_around(texts, number) for number in range(len(texts))]))
        vectors = self._unit(self._unit(self._pooled(tokens)) + _NEAR_WEIGHT * self._unit(near))
        self._mean = vectors.mean(0)
        self._vectors = self._unit(vectors - self._mean)

    def of(self, question: str) -> list[float]:
        """For each turn; about 1 for the nearest."""
        asked = self._unit(self._unit(self._pooled(self._tokens([question])))[0] - self._mean)
        found = self._vectors @ asked
        scaled: list[float] = ((found - found.mean()) / (found.std() or 1) / _SCALE).tolist()
        return scaled

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return [each.ids for each in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def _pooled(self, tokens: Sequence[Sequence[int]]) -> Any:
        pooled = self._numpy.zeros((len(tokens), self._table.shape[1]), "f4")
        for row, each in enumerate(tokens):
            if each:
                pooled[row] = self._rarity[each] @ self._table[each].astype("f4")
        return pooled

    def _unit(self, vectors: Any) -> Any:
        return vectors / self._numpy.maximum(self._numpy.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9)


def _around(texts: Sequence[str], number: int) -> str:
    """Words before and behind a short turn."""
    wanted = max(0, _NEAR_WORDS - len(texts[number].split()))
    before = texts[number - 1].split() if number else []
    behind = texts[number + 1].split() if number + 1 < len(texts) else []
    half = wanted // 2
    return " ".join([*before[len(before) - half :], *behind[: wanted - half]])


class make(make_retrieval):  # a factory to whoever calls it
    """Turns that are near count even where no word of theirs was asked for."""

    def __init__(self, dense: float = 0.6) -> None:
        super().__init__()
        self._dense = dense
        self._nearness: Nearness | None = None

    def index(self, turns: Sequence[Mapping[str, str]], _conversation: Any = None) -> None:
        super().index(turns)
        self._nearness = Nearness([turn["text"] for turn in turns])

    def search(self, query: str, k: int, now: str = "") -> list[str]:
        with _Beside(self._nearness, query, self._dense):
            return super().search(query, k, now)

    def context(self, query: str, budget: int, now: str = "") -> dict[str, Any]:
        with _Beside(self._nearness, query, self._dense):
            return super().context(query, budget, now)


class _Beside:
    """While it is entered, the turns nearest to the question are candidates too, and nearness is added to what the best
    lexical score is 1 of."""

    def __init__(self, nearness: Nearness | None, query: str, dense: float) -> None:
        assert nearness is not None, "index a conversation first"
        self._near = nearness.of(query)
        self._dense = dense
        self._replaced: dict[str, Any] = {name: vars(retrieval)[name] for name in ("_candidates", "rank")}

    def __enter__(self) -> None:
        vars(retrieval).update(_candidates=self._candidates, rank=self._rank)

    def __exit__(self, *_: object) -> None:
        vars(retrieval).update(self._replaced)

    def _candidates(self, *asked: Any) -> Any:
        rows, turns, facts = self._replaced["_candidates"](*asked)
        nearest = set(sorted(range(len(self._near)), key=self._near.__getitem__)[-_MOST:])
        row_ids = {row_id for row_id, number in execute("SELECT id, message_id FROM message") if number in nearest}
        for row in passage_search.read(row_ids - rows.keys()):
            rows[row.row_id] = row
            turns[row.row_id] = 0.0, 0
        return rows, turns, facts

    def _rank(self, reading: Any, turns: Any, _facts: Any, _files: Any, who: float) -> Any:
        best = max((score for _, score in turns), default=0.0) or 1.0
        scored = [(turn, score / best + self._dense * self._near[turn.id]) for turn, score in turns]
        return sorted(scoring._rank_turns(reading, scored, who), key=scoring._order)
