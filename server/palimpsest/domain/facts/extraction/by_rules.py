"""Facts found by the form of sentences and calls: without a model, and the same each time.

Rules, decisions and changes of mind come from words that the user typed or agreed to; changes come from calls that
succeeded, or from reports where no call tells them; descriptions of files and symbols come from English sentences that
name them. The content of a fact is its quote, at most without a lead-in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from palimpsest.domain.context.rules.detection import read_rulings
from palimpsest.domain.context.rules.rulings import Withdrawal
from palimpsest.domain.conversation.chain import StoredMessage
from palimpsest.domain.facts.extraction import statement_forms as forms
from palimpsest.domain.facts.extraction.code_changes import Change, changes_by
from palimpsest.domain.facts.extraction.exchange import Exchange, ToolUse
from palimpsest.domain.facts.extraction.names import entities_in, is_file_name, places_in
from palimpsest.domain.facts.fact import Candidate, Fact, FactType, Origin, Place
from palimpsest.domain.language.lexicon import STOP
from palimpsest.domain.language.typed_text import sentences
from palimpsest.domain.messages import ConversationId, MessageId, Role, TextPart
from palimpsest.domain.offline_texts import is_fixed

_LONGEST_SENTENCE: Final = 400
"""Characters. A longer sentence tells a story."""
_MOST_SENTENCES: Final = 400
_ASKING = re.compile(r"(?:how|what|why|where|when|which|whether|who|if|i|we|you|the fact that)\b", re.I)
_COMMIT = re.compile(
    r"\bgit\b[^|;&\n]{0,80}?\bcommit\b[^|;&\n]{0,80}?\s(?:-a?m|--message)[ =]\s*"
    r"(?:\"\$\(cat <<-?'?\"?(\w+)\"?'?\s*\n\s*(?P<here>[^\n\"]+)"
    r"|(?P<mark>[\"'])(?P<said>(?:(?!(?P=mark))[^\n]){8,200}))"
)
_PLANNED = re.compile(r"\b(?:task|step|phase|part) \d|\bin parallel\b|\bremaining\b|\btodo\b", re.I)
_KEEPING_BOOKS = re.compile(
    r"^merge\b|\bPR\b|\bpull request\b|\bwork ?log\b|\bas (?:complete|done)|\bstatus (?:to|of)\b|^wip\b|\bbump version",
    re.I,
)
"""Subjects of commits that tell nothing about the code."""
_MOVED = re.compile(r"(?:^|&&|;)\s*(?:git )?mv (?:-\w+ )*(\S+) (\S+)\s*(?=$|&&|;|\n)")
_DELETED = re.compile(r"(?:^|&&|;)\s*(?:git )?rm (?:-\w+ )*(\S+)\s*(?=$|&&|;|\n)")


@dataclass(frozen=True, slots=True)
class Retraction:
    """A change of mind of the user, which ends facts of the folder as it ends rules of the conversation."""

    conversation_id: ConversationId
    message_id: MessageId
    withdrawal: Withdrawal


Proposal = Candidate | Retraction


def by_rules(exchange: Exchange) -> tuple[Candidate, ...]:
    """The candidates of an exchange: rules and decisions, changes, then descriptions."""
    return tuple(each for each in proposals(exchange) if isinstance(each, Candidate))


def proposals(exchange: Exchange) -> tuple[Proposal, ...]:
    """The candidates and retractions of an exchange. The user's rulings come first, in the order in which they were
    said; a sentence that takes back and rules takes back first."""
    said = sorted(_user_rulings(exchange), key=lambda each: each[:2])
    rulings = [*(each for _, _, each in said), *_agreed_decisions(exchange)]
    ruled = {each.evidence.quote for each in rulings if isinstance(each, Candidate)}
    stated = [each for each in _statements(exchange) if each.evidence.quote not in ruled]
    return (*rulings, *_changes(exchange), *_commits(exchange), *stated)


def _candidate(exchange: Exchange, fact_type: FactType, message: StoredMessage, quote: str, content: str) -> Candidate:
    picked = forms.PICKED.findall(content) if fact_type in (FactType.DECISION, FactType.CONSTRAINT) else ()
    fact = Fact(fact_type, content, entities_in(content, (name for name in picked if name.lower() not in STOP)))
    return Candidate(fact, exchange.evidence(message, quote), places_in(quote, exchange.folder))


def _user_rulings(exchange: Exchange) -> Iterator[tuple[MessageId, int, Proposal]]:
    """Each with its message and the start of its sentence there."""
    for message in exchange.of_role(Role.USER):
        rulings = read_rulings(message.content)
        for withdrawal in rulings.withdrawals:
            yield message.id, withdrawal.start, Retraction(exchange.conversation_id, message.id, withdrawal)
        for rule in rulings.rules:
            quote = _without_aside(rule.text)
            is_told = forms.CHOSEN.match(_bare(quote)) is not None and _is_decision(_bare(quote))
            fact_type = FactType.DECISION if is_told or rule.is_decision else FactType.CONSTRAINT
            yield message.id, rule.start, _candidate(exchange, fact_type, message, quote, _bare(quote))
        ruled = {rule.text for rule in rulings.rules}
        for quote in _sentences(message):
            content = _bare(quote)
            if quote not in ruled and _is_decision(content):
                start = max(0, message.content.text.find(quote))
                yield message.id, start, _candidate(exchange, FactType.DECISION, message, quote, content)


def _agreed_decisions(exchange: Exchange) -> Iterator[Candidate]:
    if (agreed := exchange.agreed) is not None:
        for quote in _sentences(agreed):
            content = _bare(quote)
            if forms.PROPOSED.match(content) and _is_decision_body(content) and forms.REASONED.search(content):
                yield _candidate(exchange, FactType.DECISION, agreed, quote, content)


def _is_decision(content: str) -> bool:
    return forms.DECIDED.match(content) is not None and _is_decision_body(content)


def _is_decision_body(content: str) -> bool:
    return len(content.split()) >= 3 and not content.rstrip("*_) ").endswith("?") and not forms.POINTED.match(content)


def _statements(exchange: Exchange) -> Iterator[Candidate]:
    for message in exchange.messages:
        if message.content.role is Role.TOOL:
            continue
        for quote in _sentences(message):
            content = _bare(quote)
            if is_report(content) and (message.content.role is Role.USER or not exchange.tool_uses):
                yield _candidate(exchange, FactType.CODE_STATE, message, quote, content)
            # The words of a tool can be had from it again, up to date.
            elif is_statement(content) and exchange.origin(message, quote) is not Origin.TOOL:
                yield _candidate(exchange, FactType.ENTITY, message, quote, content)


def is_statement(content: str) -> bool:
    """Whether a sentence describes something with an exact name, and not only for the moment."""
    if (
        content.rstrip("*_) ").endswith(("?", ":", "\u2026", "..."))
        or len(content.split()) < 4
        or _ASKING.match(content)
    ):
        return False
    if any((forms.PASSING.search(content), forms.PRONOUN_SUBJECT.match(content), forms.ORDER.match(content))):
        return False
    stating = (forms.STATED, forms.DESCRIBED, forms.LOCATED, forms.VALUED, forms.ADDRESSED)
    return any(form.match(content) for form in stating)


def is_report(content: str) -> bool:
    """Whether a sentence says that something with an exact name was added, changed or removed."""
    closed = not content.rstrip("*_) ").endswith(("?", ":", "\u2026", "..."))
    return closed and forms.REPORTED.match(content) is not None and forms.EXACTLY_NAMED.search(content) is not None


def _sentences(message: StoredMessage) -> Iterator[str]:
    """The prose of a message, sentence by sentence."""
    for part in message.content.parts:
        if isinstance(part, TextPart):
            for number, (start, end) in enumerate(sentences(part.text)):
                if number >= _MOST_SENTENCES:
                    return
                if end - start <= _LONGEST_SENTENCE and not is_fixed(part.text[start:end]):
                    yield part.text[start:end]


def _without_aside(text: str) -> str:
    return text if len(text) <= 2 * _LONGEST_SENTENCE else text[: 2 * _LONGEST_SENTENCE].rpartition(" ")[0]


def _bare(quote: str) -> str:
    """A sentence on one line, without its lead-in."""
    text = " ".join(quote.replace("\u2019", "'").replace("**", "").split()).strip('"*_ ')
    match = forms.LEAD_IN.match(text)
    if match is None or len(text) - match.end() < 12:
        return text
    rest = text[match.end() :]
    return rest[:1].upper() + rest[1:] if text[:1].isupper() and rest[:1].islower() and rest[1:2] != "." else rest


def _changes(exchange: Exchange) -> Iterator[Candidate]:
    """One candidate for each file, with all that the exchange did to it."""
    merged: dict[str, tuple[Change, MessageId, str]] = {}
    announced: set[str] = set()
    uses = exchange.tool_uses
    paths_of: dict[MessageId, set[str]] = {}
    found = [(use, each) for use in uses for each in changes_by(use, exchange.folder)]
    for use, each in found:
        paths_of.setdefault(use.message_id, set()).add(each.change.path)
    for use, each in found:
        change = each.change
        sentence = _announcement(exchange, use)
        names_other = len(paths_of[use.message_id]) > 1 and change.path.rpartition("/")[2] not in sentence
        if sentence and not names_other and not change.touched and sentence not in announced:
            change = change.noted(sentence)
            announced.add(sentence)
        if change.path in merged:
            change = merged[change.path][0].followed_by(change)
        merged[change.path] = (change, use.message_id, each.quote)
    by_id = {message.id: message for message in exchange.messages}
    for change, message_id, quote in merged.values():
        if change.says_something:
            yield change_candidate(change, exchange, by_id[message_id], quote)
    for use in uses:
        yield from _moves(exchange, by_id[use.message_id], use)


def change_candidate(change: Change, exchange: Exchange, message: StoredMessage, quote: str) -> Candidate:
    evidence = exchange.evidence(message, quote)
    return change_of(Candidate(Fact(FactType.CODE_STATE, ""), evidence), change)


def change_of(candidate: Candidate, change: Change) -> Candidate:
    """The candidate with the content, entities and places of a change."""
    entities = entities_in("", (change.path, *(each.symbol for each in change.touched)))
    places = tuple(Place(change.path, symbol=symbol) for symbol in change.symbols if not symbol.startswith("#"))
    fact = Fact(FactType.CODE_STATE, change.text, entities)
    return replace(candidate, fact=fact, places=places or (Place(change.path),))


def _announcement(exchange: Exchange, use: ToolUse) -> str:
    """The sentence in which the assistant announced a call; empty when there is no telling one."""
    earlier = [each for each in (*exchange.before, *exchange.messages) if each.id <= use.message_id]
    for message in reversed(earlier[-3:]):
        if message.content.role is not Role.ASSISTANT:
            return ""
        for quote in reversed(list(_sentences(message))):
            match = forms.ANNOUNCED.match(_bare(quote))
            if match is not None and not forms.POINTED.match(match[1]) and _is_telling(match[1]):
                return match[1][:1].lower() + match[1][1:]
        if message.content.text.strip() or message.id != use.message_id:
            return ""
    return ""


def _is_telling(sentence: str) -> bool:
    """Whether a sentence names something more exact than a file, in enough words."""
    names = [name for name in entities_in(sentence) if not is_file_name(name)]
    return bool(names) and len(sentence.split()) >= 4 and not _PLANNED.search(sentence)


def _commits(exchange: Exchange) -> Iterator[Candidate]:
    """Subjects of commits: the assistant's own account of its work."""
    by_id = {message.id: message for message in exchange.messages}
    for use in exchange.tool_uses:
        command = use.arguments.get("command", use.arguments.get("cmd"))
        if not isinstance(command, str):
            command = "" if use.arguments else use.call.arguments
        for match in _COMMIT.finditer(command) if use.has_succeeded else ():
            subject = " ".join((match["here"] or match["said"]).split())
            message = by_id[use.message_id]
            if len(subject.split()) >= 3 and not _KEEPING_BOOKS.search(subject) and subject in use.call.arguments:
                content = "Committed: " + subject.rstrip(".\u2026 ") + "."
                fact = Fact(FactType.CODE_STATE, content, entities_in(subject))
                yield Candidate(fact, exchange.evidence(message, subject), places_in(subject, exchange.folder))


def _moves(exchange: Exchange, message: StoredMessage, use: ToolUse) -> Iterator[Candidate]:
    """Files that a command moved or removed."""
    command = use.arguments.get("command", use.arguments.get("cmd"))
    if not isinstance(command, str) or not use.has_succeeded:
        return
    for match in _MOVED.finditer(command):
        places = tuple(place for name in match.groups() for place in places_in(name, exchange.folder))
        quote = match[0].strip("&; \n")
        if len(places) == 2 and quote in use.call.arguments:
            old, new = (place.path for place in places)
            fact = Fact(FactType.CODE_STATE, f"Moved `{old}` to `{new}`.", (old, new))
            yield Candidate(fact, exchange.evidence(message, quote), (Place(new),))
    for match in _DELETED.finditer(command):
        places = places_in(match[1], exchange.folder)
        quote = match[0].strip("&; \n")
        if len(places) == 1 and quote in use.call.arguments:
            path = places[0].path
            fact = Fact(FactType.CODE_STATE, f"Deleted the file `{path}`.", (path,))
            yield Candidate(fact, exchange.evidence(message, quote))
