"""Makes the weights of `palimpsest.domain.context.rules.judgment` of the sentences in `sentences`.

    python -m benchmarks.rules.train [--check] [LANGUAGE ...]

`sentences/training` was written for this; the sets on which the forms were tuned are trained on as well, those named
in `UNSEEN` never. Three linear models a language, each trained by stochastic gradient descent on the logistic loss
(AdaGrad: Duchi, Hazan and Singer 2011) with a little weight decay; features seen once are left out. --check trains on
four fifths of `sentences/training` and of the rest, and prints precision and recall on the fifth that was left out,
five times, at several thresholds. Features were chosen by that; thresholds by that, by the unit tests, by the recorded
messages, and while the figures of the unseen sets were known, of which nobody has read what is missed.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import math
import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import palimpsest.domain.context.rules
from palimpsest.domain.context.rules import features
from palimpsest.domain.context.rules.forms import Forms
from palimpsest.domain.context.rules.judgment import SCALE, Weights
from palimpsest.domain.context.rules.languages import LANGUAGES, has_han, languages_of
from palimpsest.domain.context.rules.reading import Reading
from palimpsest.domain.context.rules.scoring import ENOUGH, marks_of, score, surroundings_of
from palimpsest.domain.context.rules.sentence_parts import typed_sentences
from palimpsest.domain.context.rules.weight_table import WeightTable

SENTENCES: Final = Path(__file__).parent / "sentences"
TARGET: Final = Path(palimpsest.domain.context.rules.__file__).parent / "weights"
UNSEEN: Final = (
    "held_out",
    "final",
    "last",
    "newest",
    "paraphrases",
    "paraphrases2",
    "remarks",
    "side_development",
    "asides",
    "mentions",
)
CODES: Final = {"en": "English", "de": "German", "fr": "French", "es": "Spanish", "zh": "Chinese"}
_EPOCHS, _DECAY = 10, 2e-4
_RATE: Final = 0.3
_CAUTIOUS_RATE: Final = 0.1
_AVERAGED: Final = 5
"""Epochs at the end, of which the weights of a model that is trained cautiously are the mean."""
_CAUTIOUS: Final = ("rule",)
_RULES_ALONE: Final = "_cues"
"""Ends the names of files that only the models of rules are trained on: nothing in them is about a change of mind, and
with so many statements the other models know fewer changes."""
_LEAST: Final = 8
"""Hundredths; smaller weights are left out."""
_SEED: Final = 1
_FOLDS: Final = 5
_ORDERS_A_VERB: Final = 5
_STATEMENTS_A_PATTERN: Final = 5
_FAR_PAIRS: Final = 3
"""Other rules that a sentence is held against, for each that it ends."""


@dataclass(frozen=True, slots=True)
class Example:
    seen: tuple[str, ...]
    is_so: bool
    is_new: bool
    """Of `sentences/training`, and not of a set the forms were tuned on."""


def files_of(code: str) -> list[Path]:
    """What is trained on, in a fixed order. Short English is read in every language that has its letters."""
    paths = [path for path in SENTENCES.rglob(f"{code}*.toml") if path.parent.name not in UNSEEN]
    shared = [SENTENCES / "training" / "latin.toml"] if code != "zh" else []
    return sorted([*paths, *shared], key=lambda path: path.relative_to(SENTENCES).as_posix())


def digest_of(paths: Iterable[Path]) -> str:
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def version() -> str:
    """Of all models together."""
    return digest_of(path for code in CODES for path in files_of(code))


def rule_examples(paths: Iterable[Path], own: Forms) -> Iterator[Example]:
    """Sentences that set a rule, and sentences that set none. A change of mind is one where its form is."""
    for is_new, said in _read(paths):
        for _, text in said.get("changes", ()):
            if len(parts := _sentences(text)) == 1 and score(_reading(parts[0], own), in_task=False) >= ENOUGH:
                yield Example(_of_rule(parts[0], own), True, is_new)
        for text in _rules(said):
            if len(parts := _sentences(text)) == 1:
                yield Example(_of_rule(parts[0], own), True, is_new)
        for text in _others(said):
            for part in _sentences(text):
                yield Example(_of_rule(part, own), False, is_new)


def turn_examples(paths: Iterable[Path], own: Forms) -> Iterator[Example]:
    """Sentences that end a rule, and sentences that do not; a rule may end another, and is in neither."""
    for is_new, said in _read(paths):
        for _, text in said.get("changes", ()):
            if len(parts := _sentences(text)) == 1:
                yield Example(_of_sentence(parts[0], own), True, is_new)
        for text in (*_others(said), *(each[-1] for each in said.get("beside", ()))):
            for part in _sentences(text):
                yield Example(_of_sentence(part, own), False, is_new)


def end_examples(paths: Iterable[Path], own: Forms, chance: random.Random) -> Iterator[Example]:
    """A rule and a sentence said later, where that is held against it at all."""
    told = list(_read(paths))
    rules = [rule for _, said in told for rule in _rules(said)]
    for is_new, said in told:
        pairs = [(before, after, chance.random() < 0.8, True) for before, after in said.get("changes", ())]
        pairs += [
            (other, after, chance.random() < 0.1, False)
            for before, after in said.get("changes", ())
            for other in chance.sample(_rules(said), _FAR_PAIRS)
            if other != before
        ]
        beside = [*said.get("beside", ()), *(each for each in said.get("look_alikes", ()) if len(each) == 2)]
        pairs += [(before, after, chance.random() < 0.8, False) for before, after in beside]
        pairs += [(chance.choice(rules), text, chance.random() < 0.7, False) for text in _others(said)]
        pairs += [
            (other, text, chance.random() < 0.7, False) for text in _rules(said) for other in chance.sample(rules, 2)
        ]
        for before, after, near, is_so in pairs:
            parts = _sentences(after)
            if before == after or (is_so and len(parts) != 1):
                continue
            for part in parts:
                later = _reading(part, own)
                rule = _reading(before, own).rule(0)
                if near or features.share_a_word(later.rule(0).subject_words, rule.subject_words):
                    seen = features.of_pair(before, part, later.forms, near=near, forbids=rule.is_prohibition)
                    yield Example(tuple(sorted(seen)), is_so, is_new)


def _read(paths: Iterable[Path]) -> Iterator[tuple[bool, Mapping[str, Any]]]:
    """Without what is measured as unseen: two people may write the same short sentence."""
    unseen = judged_as_unseen()
    for path in paths:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
        if (orders := told.pop("orders", None)) is not None:
            told["neither"] = _orders(**orders)
        if (put_together := told.pop("surroundings", None)) is not None:
            told |= _put_together(**put_together)
        kept = {key: [item for item in items if _normal(_last(item)) not in unseen] for key, items in told.items()}
        yield path.parent.name == "training", kept


def _orders(do: Sequence[str], what: Sequence[str], more: Sequence[str]) -> list[str]:
    """Orders of one thing: each verb as often as any other, everything else by chance."""
    chance = random.Random(_SEED)
    gap = "" if has_han(do[0]) else " "
    return [f"{verb}{gap}{chance.choice(what)}{chance.choice(more)}" for verb in do for _ in range(_ORDERS_A_VERB)]


def _put_together(
    rules: Sequence[str], neither: Sequence[str], words: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Statements of patterns whose words are chosen by chance; a word is capitalized where its name is."""
    chance = random.Random(_SEED)

    def chosen(match: re.Match[str]) -> str:
        word = chance.choice(words[match[1].lower()])
        return word[0].upper() + word[1:] if match[1].istitle() else word

    return {
        key: [re.sub(r"\{(\w+)\}", chosen, pattern) for pattern in patterns for _ in range(_STATEMENTS_A_PATTERN)]
        for key, patterns in (("rules", rules), ("neither", neither))
    }


@functools.cache
def judged_as_unseen() -> frozenset[str]:
    """The words of every message that is judged in a set nobody trains on."""
    told = (
        tomllib.loads(path.read_text(encoding="utf-8")) for name in UNSEEN for path in (SENTENCES / name).glob("*.toml")
    )
    return frozenset(
        _normal(_last(item)) for each in told for key in ("rules", "changes", "look_alikes") for item in each[key]
    )


def _last(item: str | Sequence[str]) -> str:
    return item if isinstance(item, str) else item[-1]


def _normal(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def _rules(said: Mapping[str, Any]) -> list[str]:
    pairs = (*said.get("changes", ()), *said.get("beside", ()))
    return [*said["rules"], *(before for before, _ in pairs)]


def _others(said: Mapping[str, Any]) -> list[str]:
    """Messages that neither rule nor end anything."""
    items = (*said.get("look_alikes", ()), *said.get("neither", ()))
    return [_last(item) for item in items]


def _sentences(text: str) -> list[str]:
    return [sentence for sentence, _, _ in typed_sentences((text,))]


def _reading(text: str, own: Forms) -> Reading:
    """As the language of its file reads it, unless its small words are of another one."""
    languages = languages_of(text)
    return Reading.of(text, own if own in languages else languages[0])


def _of_sentence(text: str, own: Forms) -> tuple[str, ...]:
    reading = _reading(text, own)
    return tuple(sorted({*features.of_sentence(text), *marks_of(reading, score(reading, in_task=False))}))


def _of_rule(text: str, own: Forms) -> tuple[str, ...]:
    return (*_of_sentence(text, own), *surroundings_of(_reading(text, own)))


def train(examples: Sequence[Example], *, cautious: bool) -> dict[str, float]:
    """`cautious`: in small steps, and the mean of several epochs, so that rare words weigh less."""
    rate, averaged = (_CAUTIOUS_RATE, _AVERAGED) if cautious else (_RATE, 1)
    counts = Counter(feature for example in examples for feature in example.seen)
    kept = [([f for f in example.seen if counts[f] > 1], example.is_so) for example in examples]
    weights = dict.fromkeys(("", *(f for f, n in counts.items() if n > 1)), 0.0)
    squares = dict.fromkeys(weights, 1e-8)
    total = dict.fromkeys(weights, 0.0)
    chance = random.Random(_SEED)
    for epoch in range(_EPOCHS):
        chance.shuffle(kept)
        for seen, is_so in kept:
            odds = weights[""] + sum(weights[f] for f in seen)
            wrong = 1 / (1 + math.exp(-max(-30.0, min(30.0, odds)))) - is_so
            for f in ("", *seen):
                gradient = wrong + _DECAY * weights[f]
                squares[f] += gradient * gradient
                weights[f] -= rate * gradient / math.sqrt(squares[f])
        if epoch >= _EPOCHS - averaged:
            for f, weight in weights.items():
                total[f] += weight
    return {f: weight / averaged for f, weight in total.items()}


def odds(weights: Mapping[str, float], example: Example) -> float:
    return weights[""] + sum(weights.get(f, 0.0) for f in example.seen)


def check(name: str, examples: Sequence[Example], *, cautious: bool) -> None:
    """Prints precision and recall on new sentences that were left out."""
    new = [example for example in examples if example.is_new]
    known = [example for example in examples if not example.is_new]
    random.Random(_SEED).shuffle(new)
    judged: list[tuple[float, bool]] = []
    for fold in range(_FOLDS):
        rest = [example for at, example in enumerate(new) if at % _FOLDS != fold]
        weights = train([*known, *rest], cautious=cautious)
        judged += [(odds(weights, example), example.is_so) for example in new[fold::_FOLDS]]
    print(f"{name:18} {len(known):5} known, {len(new):5} new;", end="")
    for threshold in (-2, -1, -0.5, 0, 0.5, 1, 2):
        right = sum(is_so for at, is_so in judged if at > threshold)
        found = sum(at > threshold for at, _ in judged)
        due = sum(is_so for _, is_so in judged)
        print(f"  {threshold:+}: {100 * right / max(1, found):.0f}/{100 * right / max(1, due):.0f}", end="")
    print(flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rules.train", description=__doc__.partition("\n")[0])
    parser.add_argument("languages", nargs="*", default=list(CODES), help="such as en; all of them by default")
    parser.add_argument("--check", action="store_true", help="write nothing, print how it does on what is left out")
    args = parser.parse_args(arguments)
    if not args.check:
        (TARGET / "version.txt").write_text(f"{version()}\n", encoding="utf-8")
    for code in args.languages:
        paths = files_of(code)
        own = next(forms for forms in LANGUAGES if forms.name == CODES[code])
        of_changes = [path for path in paths if not path.stem.endswith(_RULES_ALONE)]
        of = {
            "rule": list(rule_examples(paths, own)),
            "turn": list(turn_examples(of_changes, own)),
            "end": list(end_examples(of_changes, own, random.Random(_SEED))),
        }
        if args.check:
            for name, examples in of.items():
                check(f"{code} {name}", examples, cautious=name in _CAUTIOUS)
            continue
        models = {name: _whole(train(examples, cautious=name in _CAUTIOUS)) for name, examples in of.items()}
        tables = {name: WeightTable.of(model) for name, model in models.items()}
        weights = Weights(**tables, features_version=features.FEATURES_VERSION, trained_on=digest_of(paths))
        target = TARGET / f"{CODES[code].lower()}.weights"
        target.write_bytes(weights.to_bytes())
        print(f"{target.name}: {', '.join(f'{name} {len(model)}' for name, model in models.items())} weights")


def _whole(weights: Mapping[str, float]) -> dict[str, int]:
    whole = {feature: round(SCALE * weight) for feature, weight in weights.items()}
    return {feature: weight for feature, weight in whole.items() if abs(weight) >= _LEAST}


assert set(CODES.values()) == {forms.name for forms in LANGUAGES}

if __name__ == "__main__":
    main()
