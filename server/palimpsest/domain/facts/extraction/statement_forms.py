"""The forms of English sentences that are decisions, statements about a name, or announcements.

Each pattern is matched against one sentence on one line, with plain apostrophes.
"""

from __future__ import annotations

import re
from typing import Final

LEAD_IN: Final = re.compile(
    r"(?:(?:so|and|but|also|then|now|next|first|finally|ok(?:ay)?|yes|yeah|right|great|good|perfect|excellent|nice"
    r"|alright|hmm?|well|sure|actually|basically|btw|by the way|fyi|note(?: that)?|importantly|interesting(?:ly)?"
    r"|thanks|(?:ah|oh),? (?:i see)?|i (?:can )?(?:now )?(?:see|notice|found|understand|confirmed)(?: that)?(?! how\b)"
    r"|(?:it )?(?:looks like|seems(?: that)?|turns out(?: that)?)|key (?:finding|point|insight)s?|the (?:issue|problem"
    r"|key|reason) is(?: that)?|remember(?: that)?|additionally|however|important|findings?|summary|overall"
    r")\b(?![\w'/-])[\s,.:;!\u2013\u2014*-]*)+",
    re.I,
)
"""A lead-in, which a statement can do without."""

_REASON = (
    r"\b(?:because|since|so that|instead of|rather than|over|in favou?r of|due to|to (?:avoid|keep|make|ensure))\b"
)
_CHOICE = r"(?:go(?:ing)? with|use|using|stick(?:ing)? (?:with|to)|switch(?:ing)? to|adopt|settle on|standardi[sz]e on)"
DECIDED: Final = re.compile(
    r"(?:(?:we|i)(?:'ve| have|'d)? (?:already |both )?(?:decided|agreed|settled|chosen|chose|picked|opted)\b"
    rf"|let's (?:just |all |rather |instead )?(?:{_CHOICE}|keep|drop|base)\b"
    rf"|(?:we|i)(?:'ll| will|'re going to| are going to|'m going to) (?:just |only )?{_CHOICE}\b"
    rf"|(?:we should|we'd better|i want (?:us |you )?to|i(?:'d| would) (?:prefer|like) to) (?:just )?{_CHOICE}\b"
    rf"|(?:decided|chose|chosen|opted|agreed (?:to|that|on))\b"
    rf"|(?:{_CHOICE}|keep|prefer|choose|pick)\b.{{2,120}}(?:instead of|rather than|in favou?r of|\bover\b)"
    r"|(?:the )?decision(?: is| was|:))",
    re.I,
)
"""A decision of a user."""
CHOSEN: Final = re.compile(r"(?:we|i|let's|decided|chose|chosen|opted|agreed|the decision)\b", re.I)
"""The beginning of a decision that is no order."""
PICKED: Final = re.compile(
    r"\b(?:use|using|go(?:ing)? with|stick(?:ing)? (?:with|to)|chose|choose|picked|pick|prefer|adopt|over|instead of"
    r"|rather than|switch(?:ing)? to|settle on)\s+([A-Za-z][\w.+/-]*\w)",
    re.I,
)
"""The name of what is chosen or turned down."""
PROPOSED: Final = re.compile(
    rf"(?:(?:i|we)(?:'ll| will|'d| would| should| can)? (?:therefore )?(?:suggest|recommend|propose|{_CHOICE}|chose"
    rf"|decided)\b|let's {_CHOICE}\b|(?:my )?(?:recommendation|proposal|suggestion)(?: is|:)"
    rf"|(?:the )?(?:best|simplest|cleanest|right) (?:approach|option|way|solution|choice) (?:is|would be)\b)",
    re.I,
)
"""A proposal of an assistant that a user may agree to."""
REASONED: Final = re.compile(_REASON, re.I)
POINTED: Final = re.compile(
    r"(?:\w+(?:'\w*)? ){1,4}"
    r"(?:it|that|this|those|these|them|one|your|the (?:first|second|last|same|other) (?:one|option))"
    r"(?:\W|$)(?! (?:\w+ ){0,2}(?:instead|rather))",
    re.I,
)
"""A sentence about something that only the words before it name."""
REJECTED: Final = re.compile(
    r"\b(?:instead of|rather than|in place of|in favou?r of|over|no longer use|replac(?:es|ing))\s+"
    r"((?:(?!(?:for|in|because|since|so|as|on|to|and|when|with|at|of|if|that|which)\b)[\w.`/-]+\s*){1,4})",
    re.I,
)

_NAME = (
    r"(?:`[^`\n]{1,80}`|(?:[\w.@~-]*/)+[\w.@-]+|\w+\.(?:[a-z]{1,4}|json|yaml|toml|lock)\b|[A-Za-z]\w*_\w+"
    r"|[a-z]+[A-Z]\w+|[A-Z]\w*[a-z]\w*[A-Z]\w*)(?:\(\))?"
)
_STATES = (
    r"(?:contains?|defines?|exports?|implements?|provides?|holds?|stores?|handles?|uses?|reads?|writes?|returns?|takes?"
    r"|accepts?|expects?|requires?|depends? on|imports?|extends?|inherits?|wraps?|calls?|runs?|listens?|points? to"
    r"|supports?|maps?|represents?|describes?|lists?|generates?|creates?|parses?|loads?|controls?|validates?|covers?"
    r"|lives?|belongs?|sits|resides?|starts?|consists?|queries|tracks?|manages?|renders?|delegates?|inserts?|sends?"
    r"|converts?|raises?|throws?|defaults?|resolves?|(?:does not|doesn't|don't|do not|cannot|can't|only) \w+)"
)
_IS = (
    r"(?:is|are) (?:(?:already |also |only |currently )?(?:defined|located|declared|implemented|stored|kept|configured"
    r"|handled|called|registered|exported|imported|used|written|generated|named|set|mounted|required|deprecated"
    r"|documented|based|rendered|invoked|passed|represented|created|cached|built|tested|read|limited|injected)"
    r" (?:in|at|by|on|to|from|with|as|under|inside|for|via|through|into|when|only|before|after|using)\b"
    r"|(?:an?|the|our) \w|(?:not )?(?:thread-safe|async|read-only|optional|required|nullable|immutable|idempotent"
    r"|deprecated|private|public)\b)"
)
_NOUN = (
    r"(?!(?i:to|for|when|if|while|after|before|with|by|in|on|at|as|of|and|or|but|not|no|trying"
    r"|both|[a-z]+ing|[a-z]+ed)\b)"
    r"[\w'-]+"
)
_QUALIFIER = r"(?:,? (?:which|that) is [^,]{1,40},)?"
STATED: Final = re.compile(
    rf"(?:(?i:the|our|this|both|each|every|all) )?(?:{_NOUN} ){{0,3}}?\(?{_NAME}\)?(?:(?: and|,) {_NAME})?"
    rf"(?: {_NOUN}){{0,3}}?{_QUALIFIER} (?:(?:already|also|always|now|currently|then|just|only|never) )?"
    rf"(?:{_STATES}|{_IS})\b",
)
"""A statement in the present tense about something with an exact name."""
_DEED = (
    r"(?:made|wrote|built|ran|kept|found|mock|patch|keep|find|run|verify|check|ensure|test|try"
    r"|see|look|read|build|consider"
    r"|include|call|ask|commit|push|define|mark|follow|move|clean|review|avoid|allow|put|get|start|stop|show|provide"
    r"|add|fix|replace|remove|rename|extract|implement|convert|wire|refactor|simplify|handle"
    r"|expose|delete|rewrite|switch"
    r"|introduce|inline|split|merge|drop|restore|revert|migrate|register|disable|enable|bump"
    r"|change|make|update|use|pass"
    r"|set|create|write|store|support)"
)
DESCRIBED: Final = re.compile(
    r"(?:`[^`\n]{3,80}`|(?:[\w.@~-]*/)+[\w.@-]+|\w+\.[a-z]{1,4}\b|\w+\(\))(?: \([^()]{1,40}\))?"
    rf"(?: ?[\u2013\u2014]|:| -{{1,2}}) (?!(?i:[\w-]+(?:ed|ing)|{_DEED}|no|not|yes|done|missing|same|ok|lines?)\b)"
    r"(?=[^\W\d_])(?:[^\n{}\[\];=|\u2192]*?\b[^\W\d_]{2,}\b){4}[^\n{}\[\];=|\u2192]*$",
)
"""A name and its description, as in a list."""
LOCATED: Final = re.compile(
    rf"(?:(?i:the|our|all|every) )?(?:{_NOUN} ){{1,5}}(?:(?:live|reside|sit|stay|go|belong)s?"
    r"|(?:is|are) (?:defined|located|declared|implemented|stored|kept|configured|registered)) (?:in|at|under|inside) "
    rf"(?:the )?(?:{_NOUN} ){{0,2}}{_NAME}|(?:(?i:the|our) )(?:{_NOUN} ){{1,4}}listens? (?:on|at) \S+",
)
"""The place of something."""
ADDRESSED: Final = re.compile(
    r"(?:(?i:the|our|my|this|their|your) )?(?:[\w./-]+ ){0,5}?[\w./-]+(?: (?i:is|are|runs?|lives?"
    r"|listens?|sits?|resides?|answers?|points?|can be"
    r" (?:found|reached))(?: (?i:available|reachable|running|deployed|hosted|served|located|found|up))?"
    r"(?: (?i:at|on|under|behind|from|to|via|in))?|:) ?[<`]?[a-z][a-z0-9+]{1,11}://\S"
)
"""The address of something."""
REPORTED: Final = re.compile(
    r"(?:(?:i|we)(?:'ve| have| had)? (?:just |already |now |also )?)?(?:added|created|renamed"
    r"|removed|deleted|modified|moved"
    r"|extracted|implemented|replaced|introduced|split|merged|dropped|changed|rewrote|migrated"
    r"|wrote)\b(?! (?:it|this|that|them)\b)",
    re.I,
)
"""A report of a deed, by a user or by an assistant that called no tool."""
EXACTLY_NAMED: Final = re.compile(_NAME)
VALUED: Final = re.compile(
    r"(?:the|our) (?:[\w-]+ ){0,3}(?:port|version|database|timeout|path|url|endpoint|branch|limit|schema|entry point"
    r"|directory|folder|command|key|format|encoding|host|table|root|package manager|framework|default)"
    r"(?: (?:for|of|in) [\w`./ -]{1,40})? (?:is|are|lives? (?:in|at)|defaults? to)"
    r" (?:[\"'`/~:]|\S*[\d_/]|(?-i:[A-Z])|\S+[.!]?$)",
    re.I,
)
"""A setting and its value."""
PASSING: Final = re.compile(
    r"\b(?:will|would|should|could|might|may|let me|let's|i'll|i'm|i am|i've|i have|going to|need(?:s|ed)? to|want"
    r"|todo|now (?:let|i)|next step|not sure|probably|perhaps|maybe|seems?|appears?|looks?|if (?:you|we)|we can|you can"
    r"|(?:is|are) \w+ing|(?:this|that|it|so|them|here)[.!]*$"
    r"|(?:is|are) (?:now |still |currently )?(?:missing|broken|correct|wrong|done|complete|ready|empty|clean|fine"
    r"|unused|green|red|in progress)|we need|for now|at the moment|this time|just (?:added"
    r"|changed|fixed|updated|removed)|has been|have been|was|were|remaining|as expected|already (?:there|correct|done)"
    r"|tests? pass|more (?:robust|readable|consistent)|better|cleaner|makes sense|your|you're|don't worry)(?:\b|$)",
    re.I,
)
"""Plans, guesses, praise, and statements about the moment."""

ORDER: Final = re.compile(
    r"(?:\w+ing\b(?! (?:is|are|of))"
    r"|(?!(?:embedd|ne|shar|nest|typ|nam|index|se|fe|unus|unsign)ed\b)\w+ed\b"
    rf"|{_DEED}|\w+error)\b",
    re.I,
)
"""The beginning of a sentence without a subject: an order, or a report of a deed."""

ANNOUNCED: Final = re.compile(
    r"(?:let me |let's |i'll |i will |i need to |i'm going to |we need to |time to )?"
    r"(?:now |also |just |quickly |then )*"
    r"((?:add|fix|replace|remove|rename|extract|move|implement|convert|wire|refactor|simplify|handle|expose|delete"
    r"|rewrite|switch|introduce|inline|split|merge|drop|restore|revert|migrate|register|disable|enable|bump|change"
    r"|make|update|use|pass|set|create|write|store|support)\b.+)",
    re.I,
)
"""An announcement of an assistant."""
PRONOUN_SUBJECT: Final = re.compile(
    r"(?:it|they|he|she|there|here|everything|something|nothing|someone|which|who|what)\b"
    r"(?!,)|(?:this|that|these|those|both|all|one)(?:'s|'re|'ll)?(?: also| now| only| then| still| just)?"
    r" (?:is|are|was|were|will|would|can|could|should|must|has|have|had|does|do|did|doesn't|don't|isn't|aren't|means?"
    r"|makes?|works?|needs?|uses?|contains?|looks?|seems?|gives?|allows?|ensures?|shows?|returns?|handles?|defines?"
    r"|provides?|keeps?|lets?)\b",
    re.I,
)
"""A sentence whose subject only the sentence before tells."""
