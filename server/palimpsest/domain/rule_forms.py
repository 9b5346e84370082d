"""The forms by which a sentence shows itself as a standing rule, as an order of the moment, or as neither. English.

Every pattern is matched against one clause or sentence with plain apostrophes.
"""

from __future__ import annotations

import re
from typing import Final

LEAD_IN: Final = re.compile(
    r"(?:(?:oh|and|but|so|also|then|well|now|hey|ok(?:ay)?|yes|yeah|no(?=[,.!;:])|right|great|thanks|thank you|good"
    r"|sure|actually"
    r"|btw|by the way|fyi|nb|n\.b\.|ps|p\.s\.|one (?:more|last) thing|another thing|(?:please )?note(?: that)?"
    r"|(?:quick |gentle )?reminder|as a reminder|important|(?:please |just )?remember(?: that)?|please|pls|plz|kindly"
    r"|just|in general|generally|while (?:you're|you are|we're) at it|before i forget|for the record|in passing"
    r"|i(?:'d| would) like you to|i (?:want|need) you to)\b(?![\w'-])[\s,.:;!\u2013\u2014-]*)+",
    re.I,
)
"""What only introduces a sentence."""
_THIS_WORK = r"(?:project|repo(?:sitory)?|codebase|code base|session|conversation|chat|thread|workspace)"
SCOPE: Final = re.compile(
    r"\b(?:from (?:now|here|this point) on(?:wards?)?|from (?:here|this point) forward|going forward|henceforth"
    rf"|for the (?:rest|remainder) of|(?:in|for|across|throughout) (?:this|the|our) (?:whole |entire )?{_THIS_WORK}\b"
    r"|every (?:single )?time|each time|at all times|as a (?:general )?rule|by default|until i (?:say|tell)"
    r"|under no circumstances|no matter what|without exception|any ?more$|in (?:the )?future)",
    re.I,
)
OPENING_SCOPE: Final = re.compile(
    rf"(?:{SCOPE.pattern})(?:\s+(?=(?:we|you|i|please|always|never|use|do|don't)\b)|(?<=\bon)\s+|(?<=forward)\s+"
    r"|[^,.:!]{0,30}[,.:!]\s*)",
    re.I,
)
SCOPE_ALONE: Final = re.compile(
    rf"(?:from now on|going forward|henceforth|(?:for|in) (?:the (?:rest|remainder) of )?(?:this|the|our) "
    rf"(?:whole |entire )?(?:{_THIS_WORK}|day|task))[.:!]?",
    re.I,
)
CLAUSE: Final = re.compile(
    r"[,;:\u2013\u2014]\s+|\(|\s--?\s|\s(?=(?:and|but|so) (?:please |also )?(?:never|always|do not|don't)\b)", re.I
)
ASIDE: Final = re.compile(r"\s(?:(?:--?|[\u2013\u2014]|because|since|so that)\s|\()", re.I)
"""After it a sentence explains: exact names there do not make it an order of one thing."""

ALWAYS: Final = re.compile(
    r"(?:always|never)\s+(?!mind\b|know\b|knew\b|seen\b|heard\b|had\b|did\b)[\w`\"']|.{3,80}, always[.!]*$", re.I
)
ALWAYS_WE: Final = re.compile(
    r"\b(?:you|we|must|should|shall|please|is to|are to|remind you to|remember to|sure to|want to|be|code|replies"
    r"|answers"
    r"|commits?|tests?) (?:must |should |shall |will |can |may |are to )?(?:always|never) \w",
    re.I,
)
TALE: Final = re.compile(
    r"\b(?:it|they|this|that|which|who) (?:always|never|should never) |\b(?:has|have|had|was|were|did"
    r"|you) (?:always|never)\b",
    re.I,
)
"""Telling or complaining, where "always" and "never" set nothing."""
FORBID: Final = re.compile(
    r"(?:do not|don'?t|no more|avoid|stop|refrain from|quit|cease)\s+(?!(?:worry|know|think|see|mind|get me|bother"
    r"|hesitate|understand|believe|care|remember|recall|have|need|want|like|you|we|i|forget|be (?:sorry|afraid|shy)"
    r"|let me"
    r"|stop|here|there|now|problem|issue|at|the (?:server|process|build))\b|(?:it|that|this)\b(?: now)?\W*$)[\w`\"']",
    re.I,
)
FORBID_WE: Final = re.compile(
    r"\b(?:must not|mustn't|shall not|(?:is|are) (?:not allowed|forbidden|off[- ]limits|banned)"
    r"|(?:you|we|nobody|code|files?|tests?|commits?) (?:should not|shouldn't|cannot ever|can't ever)(?! have\b)"
    r"|(?:i|we) (?:do not|don't) want (?:you to|any|to see|us to)|(?:i|we)(?:'d| would) rather (?:you |we )?not)\b",
    re.I,
)
NO_KIND: Final = re.compile(
    r"no (?!problem|worr|need|idea|luck|error|such|one\b|way|matter|rush|change|longer|more|thanks|doubt|wonder"
    r"|clue|point"
    r"|the\b|that|this|it\b|its\b|i\b|you|we\b|not\b|output|result|big|issue|difference|reason|question|let)[a-z-]+"
    r"(?!.*\b(?:found|left|failed|yet|available|happened|seen|changed|is|are|was|were)\b).*",
    re.I,
)
ABANDONED: Final = re.compile(
    r"(?:we(?:'re| are)? |let's |i )?no longer (?:use|using|want|do|doing|follow|following|support)\b", re.I
)
NEGATIVE: Final = re.compile(r"\bnever\b|\blet's (?:not|avoid)\b|\bwe (?:don't|do not)\b|\bi hate\b", re.I)
CONDITION: Final = re.compile(
    r"(?:when(?:ever)?|before|after|while|until|unless|once|if|any ?time|as soon as) "
    r"(?:you|we|i|anything|any|an?|each|every|\w+ing)\b",
    re.I,
)
ORDER_AFTER_CONDITION: Final = re.compile(r"(?:you|we) (?:must|should|have to|need to)\b|(?:must|should)\b", re.I)
KIND: Final = re.compile(
    r"\b(?:every|each|any|all(?! (?:the|my|of)\b)|only(?! the\b)|instead of|rather than|unless"
    r"|whenever|at most|at least|everywhere|throughout|never|always|both|maximum|exclusively|consistently|under \d+"
    r"|where possible|your (?:repl|answer|response|message|commit|summar|explanation)\w*)\b",
    re.I,
)
WEAK_KIND: Final = re.compile(r"\b(?:no|not|nothing|without)\b", re.I)
"""Of a kind where the object is: "write reports in prose, not in lists"."""
EACH: Final = re.compile(
    r"\b(?:every|each|whenever|unless (?:i|we)|(?:before|when) (?:you|we|any|each|every|\w+ing)"
    r"|after (?:you|we|any|each|every))\b",
    re.I,
)
OWED: Final = re.compile(
    r"\b(?:must(?! have been)|should(?! have)|shall|ought to|have to|are (?:required|mandatory))\b(?! (?:probably|i"
    r"|we|you)\b)",
    re.I,
)
OWED_KIND: Final = re.compile(
    r"(?:all|any|every|each|only|both|no|new)\b(?! the)"
    r"|(?:(?!(?:the|my|these|those|some|more|this|our|its)\b)[\w-]+ ){0,2}(?!this|its|is |was |has |does )[a-z]+s"
    r" (?:must|should|shall|have to|are )"
    r"|(?:you|we) (?:must|should|have to) (?:\w+ ){0,8}(?:every|each|whenever|before|only)\b",
    re.I,
)
DECIDED: Final = re.compile(
    r"(?:we(?:'ve| have)? (?:decided|agreed|settled|chosen|chose|standardi[sz]ed)"
    r"|let's (?:always |just |all )?(?:use|stick (?:with|to)|go with|standardi[sz]e|adopt|settle on|avoid|never|not)\b"
    r"|(?:we'll|we will|we're going to) (?:always |only )?(?:use|stick (?:with|to)|go with|target|support)\b"
    r"|we (?:only |always )?(?:use|write|follow|prefer|target|support|indent|deploy)\b(?! (?:it|this|that|the|these"
    r"|them|to)\b)"
    r"|we (?:do not|don't) (?:use|write|want|do|commit|support|allow|add|log|mock|target|ship|deploy|put|name)\b"
    r"|the (?:decision|convention|rule|policy) is|my preference is"
    r"|i(?:'d)? (?:strongly |much |really )?(?:prefer|rather you|rather we|insist|expect you to|always want|hate"
    r"|only want)\b)",
    re.I,
)
ONCE: Final = re.compile(
    r"\b(?:just yet|yet|for now|this time|this one|right now|for the moment|(?:for )?today|here|next|at the moment"
    r"|now)\b"
    r"[.!]?(?=$|[\s,;)])",
    re.I,
)
POINTED: Final = re.compile(
    r"^\W*(?:\w+'?\w*\s+){1,3}(?:it|that|this|those|these|them|him|her)\b(?! (?:\w+ ){0,3}again)", re.I
)
"""About one thing that was just spoken of."""
SPECIFIC: Final = re.compile(r"\b(?:the|this|that|these|those|my|it|them)\b", re.I)
DETERMINED: Final = re.compile(r"\w+ (?:up |down )?(?:the|this|that|these|those|my|it|them|some|an?)\b", re.I)
"""An order with one thing as its object."""
EXACT: Final = re.compile(
    r"`[^`\n]+`|(?<!\w)[\w.~@-]*/[\w./@-]*\w|\b\w+\.(?:[a-z]{1,4}|json|yaml|toml|lock)\b|\b[a-z]\w*_\w+\b"
    r"|\b[a-z]+[A-Z]\w+\b|\b[A-Z]\w*[a-z][A-Z]\w*\b|\b[0-9a-f]{7,40}\b|#\d+|(?<!\w)--\w[\w-]+|@\w[\w-]+"
)
"""An exact name: a rule speaks of kinds."""
ASKED: Final = re.compile(
    r"(?:can|could|would|will|should|shall|do|does|did|is|are|was|why|how|what|which|who|where|have|has|may|might|isn't"
    r"|aren't|don't|didn't|doesn't|when (?:did|do|does|will|is|are|was|should|can)) "
    r"(?:you|we|i|it|they|this|that|the|there|he|she)\b",
    re.I,
)

OPINION: Final = re.compile(
    r"(?:i (?:think|guess|wonder|tried|saw|see|noticed|got|get|suppose|believe|wish|thought)|it (?:seems|looks)"
    r"|looks like)\b",
    re.I,
)

HABITS: Final = frozenset(
    "use prefer write reply answer respond keep format name cite end begin start sign address speak explain include"
    " indent quote spell refer treat stick limit call report show ask confirm put leave mark tag follow assume favor"
    " favour wrap round convert summarize summarise translate label pick choose set store document target maintain give"
    " tell act say stay check wait link open handle base return restate be make".split()
)
"""Verbs by which people order how things are done."""
STYLES: Final = frozenset(
    "use prefer avoid stick reply answer respond speak indent cite address target follow favor favour".split()
)
"""Of these, those whose bare object already is a kind: "use tabs"."""
ACTIONS: Final = frozenset(
    "run add commit push test verify update create remove delete review read do send search look lint log validate back"
    " ensure print draft propose list warn notify discuss get have double-check doublecheck build deploy restart record"
    " save clean stop apply".split()
)
"""Verbs of single actions: a rule only with "each", "before you" and their like."""

REJECTED: Final = re.compile(
    r"\b(?:instead of|rather than|over|no longer use|not|in place of)\s+((?:\w[\w-]*\s*){1,3})", re.I
)
_RULE_NOUN = r"(?:rule|instruction|constraint|requirement|restriction|preference|convention|guideline|policy)s?"
TAKEN_BACK: Final = re.compile(
    r"(?:you (?:can|may) |let's )?(?:forget|ignore|drop|scratch|cancel|disregard|lift|revoke|withdraw|remove|undo"
    rf"|never ?mind|skip)\b(?=.*\b(?:{_RULE_NOUN} ?(?:about|on|for|that|from|$|[.,!;])|what i (?:said|told you|asked)))"
    r"|(?:you|we) (?:no longer (?:need|have)|(?:don't|do not) (?:need|have)(?=.*\bany ?(?:more|longer)\b)) to\b"
    r"|no need to\b(?=.*\bany ?(?:more|longer)\b)"
    rf"|(?:that|the|this)\b(?=[^,]*\b{_RULE_NOUN} (?:(?:\w+ ){{0,4}})(?:no longer applies|is off|is gone"
    rf"|is withdrawn))",
    re.I,
)
PERMITTED: Final = re.compile(
    r"(?:it is |it's )?(?:you|we|ok(?:ay)? to|fine to|allowed to)(?: can| may)?\b(?=.*\b(?:again|now|after all)[.!]?$)",
    re.I,
)
ABOUT: Final = re.compile(
    rf"\b{_RULE_NOUN}\b|\b(?:applies|apply|gone|earlier|previous|last|fine|okay|allowed|asked|request|withdrawn)\b",
    re.I,
)
"""Words of a withdrawal that do not say which rule."""
STOP: Final = frozenset(
    "a about after again all also always am an and any anymore are as at be because been before being both but by can"
    " could do does don doing done dont each either every everything for forget from get go going had has have here how"
    " i if ignore in instead into is it its just keep let longer make matter may me mind more must my need never no not"
    " nothing now of off on once only or our out over please prefer rather rest rule rules said say session should so"
    " some stick stop such than that the their them then there these they thing things this those to too unless"
    " until up"
    " us use used uses using want was we were what when whenever where which while who will with without would you your"
    " yours ll re ve s t d avoid onwards forward henceforth project told drop decided agreed today actually btw way"
    " note"
    " remember sure".split()
)
