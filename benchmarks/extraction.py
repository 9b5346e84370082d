"""What the rules make of recorded sessions: how many facts, and how many of them are junk.

    python -m benchmarks.extraction [--sample N] [--seed S] SESSION ...

Each session is a folder of its own; each step of it is an exchange. Junk is counted by code that shares nothing with
admission: a fact whose quote does not stand in its message, with under three content words, whose subject is a pronoun,
that says what another open fact says, or whose quote only a tool has said. Then a sample of the rest, for a reader.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.facts.extraction.admission import FIRST_EXCHANGES, MOST_OPEN, admit, most_open
from palimpsest.domain.facts.extraction.by_rules import by_rules
from palimpsest.domain.facts.extraction.exchange import Exchange
from palimpsest.domain.facts.fact import Candidate, FactId, FactState, FactType, Origin, SourceState, StoredFact
from palimpsest.domain.messages import Content, ConversationId, Digest, MessageId, Role
from palimpsest.services.conversation.recordings import Recording, load_recording

_N_BEFORE: Final = 40
"""Messages that an exchange is read with."""
_FUNCTION_WORDS: Final = frozenset(
    "a about all also an and any are as at be been but by can do does for from had has have i if in into is it its just"
    " let me my no not now of on or our out should so some that the their them then there these they this to too up us"
    " use was we were what when which will with would you your".split()
)
_PRONOUN = re.compile(r"\W*(?:it|this|that|they|these|those|he|she|there|which)(?:'s|'re)? (?:\w+ly )?"
                      r"(?:is|are|was|were|will|would|should|can|has|have|does|do|\w+s)\b", re.I)  # fmt: skip


@dataclass(slots=True)
class Folder:
    """A store of facts as admission sees one."""

    facts: dict[FactId, StoredFact] = field(default_factory=dict)
    n_admitted: int = 0
    n_duplicates: int = 0
    n_closed: int = 0
    n_evicted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    admit_s: float = 0.0

    def take(self, candidates: Sequence[Candidate], turn_number: int, n_exchanges: int) -> None:
        started = time.perf_counter()
        admission = admit(candidates, list(self.facts.values()), most_open(n_exchanges))
        self.admit_s += time.perf_counter() - started
        for id, _ in admission.closes:
            self.facts[id] = replace(self.facts[id], closed_at=str(n_exchanges))
        for id in admission.evicted:
            self.facts[id] = replace(self.facts[id], closed_at=str(n_exchanges))
        for candidate in admission.new:
            id = FactId(len(self.facts) + 1)
            sources = tuple(SourceState(place, FactState.FRESH) for place in candidate.places)
            self.facts[id] = StoredFact(id, candidate.fact, turn_number, "", candidate.evidence, sources)
        self.n_admitted += len(admission.new)
        self.n_duplicates += len(admission.duplicates)
        self.n_closed += len(admission.closes)
        self.n_evicted += len(admission.evicted)
        self.refused.update(why.name.lower() for _, why in admission.refused)

    @property
    def open(self) -> list[StoredFact]:
        return [fact for fact in self.facts.values() if fact.is_open]


def root_of(recording: Recording) -> str:
    """The folder that the absolute paths of its tool calls have in common; empty where they tell none."""
    paths: list[str] = []
    for step in recording.steps:
        for call in (call for content in step for call in content.calls):
            try:
                arguments = json.loads(call.arguments)
            except ValueError:
                continue
            values = arguments.values() if isinstance(arguments, dict) else ()
            paths += [value for value in values if isinstance(value, str) and re.fullmatch(r"/(?!tmp)[\w./-]+", value)]
    prefixes = Counter(path.split("/lib/")[0].split("/test/")[0].split("/src/")[0] for path in paths)
    common = [prefix for prefix, _ in prefixes.most_common(1)]
    return posixpath.normpath(common[0]) if common else ""


def junk(fact: StoredFact, contents: dict[MessageId, Content], others: Sequence[StoredFact]) -> str | None:
    """Why a fact is junk; None: by these rules it is none."""
    evidence = fact.evidence
    if evidence is None or not evidence.quote or not _holds(contents[evidence.message_id], evidence.quote):
        return "quote missing"
    words = _words(fact.fact.content)
    is_rule = fact.fact.fact_type is FactType.CONSTRAINT and evidence.origin is Origin.USER
    if len(words) < 3 and not is_rule:
        return "under three content words"
    if _PRONOUN.match(fact.fact.content):
        return "a pronoun as subject"
    if contents[evidence.message_id].role is Role.TOOL or evidence.origin is Origin.TOOL:
        return "said by a tool"
    if fact.fact.fact_type is FactType.CONSTRAINT and contents[evidence.message_id].role is not Role.USER:
        return "a rule that no user set"
    for other in others:
        if other.id < fact.id and other.fact.fact_type is fact.fact.fact_type:
            theirs = _words(other.fact.content)
            if len(words & theirs) >= 0.9 * len(words | theirs):
                return "a duplicate"
    return None


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 1} - _FUNCTION_WORDS


def _holds(content: Content, quote: str) -> bool:
    texts = [content.text, *(call.arguments for call in content.calls), *(result.text for result in content.results)]
    return any(quote in text for text in texts)


@dataclass(frozen=True, slots=True)
class Told:
    """What a session gave."""

    name: str
    folder: Folder
    n_exchanges: int
    n_open_first: int
    """After the first exchanges."""
    n_open_peak: int
    """The most open ones at any time in them."""
    junk: dict[FactId, str]
    """Of all that was ever admitted."""


def read(path: Path) -> Told:
    recording = load_recording(path)
    root, folder = root_of(recording), Folder()
    history: list[StoredMessage] = []
    contents: dict[MessageId, Content] = {}
    n_first = n_peak = turn_number = 0
    for number, step in enumerate(recording.steps, 1):
        turn_number += step[0].role is Role.USER
        messages = [
            StoredMessage(ConversationId(path.name), MessageId(len(history) + index), content, "", None, Digest(""))
            for index, content in enumerate(step)
        ]
        exchange = Exchange.of(messages, turn_number=turn_number, before=history[-_N_BEFORE:], folder=root)
        folder.take(by_rules(exchange), turn_number, number)
        history += messages
        contents.update((message.id, message.content) for message in messages)
        if number <= FIRST_EXCHANGES:
            n_first = len(folder.open)
            n_peak = max(n_peak, n_first)
    facts = list(folder.facts.values())
    still_open = folder.open
    # Of a fact that was replaced the next one is no duplicate: both are never open together.
    why = {fact.id: reason for fact in facts if (reason := junk(fact, contents, still_open if fact.is_open else ()))}
    name = path.name.removesuffix(".xz").removesuffix(".jsonl")
    return Told(name, folder, len(recording.steps), n_first, n_peak, why)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, metavar="SESSION")
    parser.add_argument("--sample", type=int, default=60, help="facts to list (default 60)")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args(argv)
    told = [read(path) for path in arguments.paths]
    print(f"{'session':52} exchanges  open@{FIRST_EXCHANGES}  open  admitted  dup  closed  evicted  junk")
    reasons: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    for each in told:
        folder = each.folder
        reasons.update(each.junk.values())
        refused.update(folder.refused)
        kinds.update(fact.fact.fact_type.value for fact in folder.facts.values())
        print(
            f"{each.name[:52]:52} {each.n_exchanges:9} {each.n_open_first:9} {len(folder.open):5} "
            f"{folder.n_admitted:9} {folder.n_duplicates:4} {folder.n_closed:7} {folder.n_evicted:8} {len(each.junk):5}"
        )
    n_admitted = sum(each.folder.n_admitted for each in told)
    share = sum(reasons.values()) / n_admitted if n_admitted else 0.0
    print(f"\nadmitted {n_admitted} {dict(kinds)}, refused {dict(refused)}")
    print(f"junk {share:.1%} (target at most 10 %) {dict(reasons)}")
    print(f"most open facts in the first {FIRST_EXCHANGES} exchanges: {max(each.n_open_peak for each in told)} "
          f"(target at most {MOST_OPEN})")  # fmt: skip
    print(f"admission took {sum(each.folder.admit_s for each in told):.2f} s for all exchanges together")
    rest = [(each.name, fact) for each in told for fact in each.folder.open if fact.id not in each.junk]
    chosen = random.Random(arguments.seed).sample(rest, min(arguments.sample, len(rest)))
    print(f"\n{len(chosen)} of the {len(rest)} open facts that are no junk (seed {arguments.seed}):")
    for number, (name, fact) in enumerate(chosen, 1):
        print(f"{number:3} {fact.fact.fact_type.value:10} {fact.fact.content}  [{name[:24]}]")


if __name__ == "__main__":
    main()
