"""How well rules and changes of mind are found, on made-up sentences in five languages and on recorded messages.

    python -m benchmarks.rules [-v] [--set NAME] [--sessions FOLDER] [--constraints FILE] [LANGUAGE ...]

For each language in `sentences/`: how many of the rules are found; how many of the changes of mind end what they
replace, and nothing that stands beside it; how many of the look-alikes are taken for either. Nearly all sets are known
text: the forms were tuned on those directly in `sentences`, in `fresh`, `chat`, `unseen`, `untouched` and
`development`, and the models are trained on them. Eight are not: `held_out` was written together with
`development`, `final` by somebody who had read nothing of all this, `last` by three and `newest` by two who had not
either; `paraphrases2` and `mentions` hold rules without a cue word ("never", "use", "only"), `remarks` such that state
what surrounds a project ("the kiosk has no keyboard"), and `asides`, in English, such beside what people say to an
agent.
Nobody has read what is missed in these, so measure them without -v.
`paraphrases` is like `paraphrases2` and is not trained on either, but what is missed in it was read before the forms
for such rules were written. The reference is a matcher of keywords, run on the same sentences.

Behind the sets comes how many of the plain orders in `orders.toml` are taken for rules. With --sessions, the same for
the 200 messages of `messages.txt`, which were read by eye, and whose errors the forms were mended for: the recorded
sessions themselves are not part of the repository. With --constraints, how many of the sentences `sc` in a JSON list
are found. -v names what went wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from palimpsest.domain.context.rules.detection import detect
from palimpsest.domain.context.rules.rule_set import RuleState, build
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.messages import ConversationId, Digest, MessageId, Role, user_message
from palimpsest.services.conversation.recordings import load_recording

HERE: Final = Path(__file__).parent
Finder = Callable[[Sequence[str]], list[tuple[str, bool]]]
"""Messages to the rules found in them, in order, each with whether it still holds after the last."""

_RULE_WORDS: Final = re.compile(
    r"\b(?:always|never|must|should|don't|do not|avoid|prefer|use|only|every|from now on"
    r"|immer|nie|niemals|muss|müssen|soll|nicht|kein\w*|verwende|benutze|nur|ab jetzt"
    r"|toujours|jamais|doit|doivent|faut|ne|pas|évite|utilise|uniquement|désormais"
    r"|siempre|nunca|debe|deben|no|evita|usa|solo|a partir de ahora)\b|总是|永远|必须|不要|禁止|一律|都要|用|从现在",
    re.I,
)
_CHANGE_WORDS: Final = re.compile(
    r"\b(?:actually|instead|no longer|any ?more|drop|forget|scratch|switch\w*|moved?|rather|replace|not"
    r"|doch|stattdessen|statt|nicht mehr|vergiss|umgestiegen|wechseln|lieber"
    r"|finalement|plutôt|au lieu|plus|oublie|passons|passés|remplace"
    r"|en realidad|mejor|en lugar|en vez|ya no|olvida|cambiemos|pasado)\b|改用|换成|不再|不用|算了|放弃|还是|代替",
    re.I,
)


def product(messages: Sequence[str]) -> list[tuple[str, bool]]:
    stored = [_stored(2 * number, text) for number, text in enumerate(messages)]
    return [(entry.text, entry.state is RuleState.OPEN) for entry in build(stored, (), ()).entries]


def keywords(messages: Sequence[str]) -> list[tuple[str, bool]]:
    """The reference: a message with a word of rules is one; one with a word of change ends what shares a long word."""
    found: list[tuple[str, bool]] = []
    for text in messages:
        if _CHANGE_WORDS.search(text):
            words = _long_words(text)
            found = [(rule, holds and not words & _long_words(rule)) for rule, holds in found]
        if _RULE_WORDS.search(text) and not text.rstrip().endswith(("?", "\uff1f")):
            found.append((text, True))
    return found


def _long_words(text: str) -> set[str]:
    found = {word for word in re.findall(r"[^\W\d_]{4,}", text.lower()) if not re.search(r"[\u4e00-\u9fff]", word)}
    return found | {text[at : at + 2] for at in range(len(text) - 1) if re.match(r"[\u4e00-\u9fff]{2}", text[at:])}


def _stored(number: int, text: str) -> StoredMessage:
    return StoredMessage(ConversationId("benchmark"), MessageId(number), user_message(text), "", None, Digest(""))


@dataclass(slots=True)
class Counts:
    right: int = 0
    missed: int = 0
    wrong: int = 0

    def __str__(self) -> str:
        found, due = self.right + self.wrong, self.right + self.missed
        precision = f"{100 * self.right / found:5.1f}" if found else "    -"
        recall = f"{100 * self.right / due:5.1f}" if due else "    -"
        return f"{precision} / {recall}  ({self.right} right, {self.wrong} wrong, {self.missed} missed)"


@dataclass(slots=True)
class Tally:
    rules: Counts
    changes: Counts
    errors: list[str]


def measure(sentences: Mapping[str, Any], find: Finder, rest: int | None) -> Tally:
    """`rest`: the numbers that are meant, modulo 2; None: all of them."""
    tally = Tally(Counts(), Counts(), [])
    bystanders = [str(each) for each in sentences["bystanders"]]
    for text in _chosen(sentences["rules"], rest):
        if any(_same(str(text), rule) for rule, _ in find([str(text)])):
            tally.rules.right += 1
        else:
            tally.rules.missed += 1
            tally.errors.append(f"no rule found: {text}")
    for before, change in _chosen(sentences["changes"], rest):
        states = find([*bystanders, before, change])
        if any(_same(before, rule) and not holds for rule, holds in states):
            tally.changes.right += 1
        else:
            tally.changes.missed += 1
            known = any(_same(before, rule) for rule, _ in states)
            tally.errors.append(f"{'still holds' if known else 'never found'}: {before} | {change}")
        for rule, holds in states:
            if not holds and rule in bystanders:
                tally.changes.wrong += 1
                tally.errors.append(f"ended: {rule} | {change}")
    for item in _chosen(sentences["look_alikes"], rest):
        pair: list[str] = [item] if isinstance(item, str) else item
        text = pair[-1]
        if any(_same(text, rule) for rule, _ in find([text])):
            tally.rules.wrong += 1
            tally.errors.append(f"taken for a rule: {text}")
        if len(pair) > 1 and any(not holds for _, holds in find([*bystanders, *pair])):
            tally.changes.wrong += 1
            tally.errors.append(f"taken for a change: {pair[0]} | {text}")
    return tally


def _same(text: str, found: str) -> bool:
    return found in text


def _chosen(items: Sequence[Any], rest: int | None) -> list[Any]:
    return [item for number, item in enumerate(items) if rest in (None, number % 2)]


def report_sentences(names: Sequence[str], sets: Sequence[str], verbose: bool) -> None:
    for path, label_of_set, rest in _sets():
        if (names and path.stem not in names) or (sets and label_of_set not in sets):
            continue
        sentences = tomllib.loads(path.read_text(encoding="utf-8"))
        for label, find in (("product", product), ("keywords", keywords)):
            tally = measure(sentences, find, rest)
            print(f"{path.stem} {label_of_set:15} {label:8} rules {tally.rules}")
            print(f"{path.stem} {label_of_set:15} {label:8} changes {tally.changes}")
            if verbose and label == "product":
                print("\n".join(f"    {error}" for error in tally.errors))


def report_orders(names: Sequence[str], verbose: bool) -> None:
    """How many plain orders are taken for rules."""
    for label, parts in tomllib.loads((HERE / "orders.toml").read_text(encoding="utf-8")).items():
        code, _, of = label.partition("_")
        if names and code not in names:
            continue
        gap = "" if code == "zh" else " "
        orders = [
            f"{verb}{gap}{thing}{end}" for verb in parts["do"] for thing in parts["what"] for end in parts["more"]
        ]
        for name, find in (("product", product), ("keywords", keywords)):
            wrong = [order for order in orders if find([order])]
            print(f"{code} orders, {of:7} {name:8} {len(wrong)} of {len(orders)} are taken for rules")
            if verbose and name == "product":
                print("\n".join(f"    {order}" for order in wrong))


def _sets() -> list[tuple[Path, str, int | None]]:
    """The file, the name of the set, and which of its sentences are meant."""
    return [
        *((path, "first half", 0) for path in _paths("*.toml")),
        *((path, "second half", 1) for path in _paths("*.toml")),
        *((path, "fresh", None) for path in _paths("fresh/*.toml")),
        *((path, "chat", None) for path in _paths("chat/*.toml")),
        *((path, "unseen", None) for path in _paths("unseen/*.toml")),
        *((path, "untouched", None) for path in _paths("untouched/*.toml")),
        *((path, "development", None) for path in _paths("development/*.toml")),
        *((path, "held_out", None) for path in _paths("held_out/*.toml")),
        *((path, "final", None) for path in _paths("final/*.toml")),
        *((path, "last", None) for path in _paths("last/*.toml")),
        *((path, "newest", None) for path in _paths("newest/*.toml")),
        *((path, "paraphrases", None) for path in _paths("paraphrases/*.toml")),
        *((path, "paraphrases2", None) for path in _paths("paraphrases2/*.toml")),
        *((path, "remarks", None) for path in _paths("remarks/*.toml")),
        *((path, "side_development", None) for path in _paths("side_development/*.toml")),
        *((path, "asides", None) for path in _paths("asides/*.toml")),
        *((path, "mentions", None) for path in _paths("mentions/*.toml")),
    ]


def _paths(pattern: str) -> list[Path]:
    return sorted((HERE / "sentences").glob(pattern))


def report_messages(folder: Path, verbose: bool) -> None:
    """Precision and recall of rules in the recorded messages that were labelled."""
    texts: dict[str, str] = {}
    for path in sorted(folder.glob("*.jsonl*")):
        for content in (each for step in load_recording(path).steps for each in step):
            if content.role is Role.USER:
                texts.setdefault(hashlib.sha256(content.text.encode()).hexdigest()[:32], content.text)
    for label in ("product", "keywords"):
        counts, n_read = Counts(), 0
        for line in (HERE / "messages.txt").read_text().splitlines():
            if line.startswith("#") or (text := texts.get(line.split()[0])) is None:
                continue
            n_read += 1
            _count_message(text, line.split()[1:], label, counts, verbose)
        print(f"recorded messages {label:8} rules {counts} in {n_read}")


def report_constraints(path: Path, verbose: bool) -> None:
    """Recall of rules in a list of sentences, each of which is one."""
    texts = [str(each["sc"]) for each in json.loads(path.read_text(encoding="utf-8"))]
    for label, find in (("product", product), ("keywords", keywords)):
        missed = [text for text in texts if not any(_same(text, rule) for rule, _ in find([text]))]
        print(f"constraints {label:8} {len(texts) - len(missed)} of {len(texts)} are found")
        if verbose and label == "product":
            print("\n".join(f"    no rule found: {text}" for text in missed))


def _count_message(text: str, labels: Sequence[str], label: str, counts: Counts, verbose: bool) -> None:
    due = [
        (int(mark.rstrip("?").split("-")[0]), int(mark.rstrip("?").split("-")[1]), mark[-1] == "?") for mark in labels
    ]
    if label == "product":
        found = [(rule.start, rule.end) for rule in detect(user_message(text))]
    else:
        lines = re.finditer(r"[^.!?\n]+[.!?]?", text)
        found = [m.span() for m in lines if _RULE_WORDS.search(m[0]) and not m[0].endswith("?")]
    for start, end in found:
        hits = [mark for mark in due if mark[0] < end and start < mark[1]]
        if not hits:
            counts.wrong += 1
            if verbose and label == "product":
                print("    taken for a rule:", " ".join(text[start:end].split())[:160])
    for start, end, is_open in due:
        is_found = any(start < last and first < end for first, last in found)
        if not is_open:
            counts.right += is_found
            counts.missed += not is_found
            if verbose and label == "product" and not is_found:
                print("    no rule found:", " ".join(text[start:end].split())[:160])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rules", description=__doc__.partition("\n")[0])
    names = sorted({path.stem for path, _, _ in _sets()})
    sets = sorted({label for _, label, _ in _sets()})
    parser.add_argument(
        "languages", nargs="*", metavar="LANGUAGE", help=f"of {', '.join(names)}; all of them by default"
    )
    parser.add_argument("--sessions", type=Path, help="a folder of recorded sessions")
    parser.add_argument("--constraints", type=Path, help="a JSON list of objects with a sentence `sc`")
    parser.add_argument(
        "--set", action="append", default=[], choices=sets, dest="sets", help="such as held_out; all of them by default"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="name what went wrong")
    args = parser.parse_args(arguments)
    if unknown := sorted(set(args.languages) - set(names)):
        parser.error(f"there are no sentences in {', '.join(unknown)}; there are in {', '.join(names)}")
    print("precision / recall in %")
    report_sentences(args.languages, args.sets, args.verbose)
    report_orders(args.languages, args.verbose)
    if args.sessions is not None:
        report_messages(args.sessions, args.verbose)
    if args.constraints is not None:
        report_constraints(args.constraints, args.verbose)


if __name__ == "__main__":
    main()
