"""English: the parts of a sentence, the marks of a rule and of something else, and the words of the language."""

from __future__ import annotations

from palimpsest.domain.context.rules.forms import form

LEAD_IN = form(
    r"(?:(?:oh|and|but|so|also|then|well|now|hey|ok(?:ay)?|yes|yeah|no(?=[,.!;:])|right|great|thanks|thank you|good"
    r"|sure|actually|on (?:second thoughts?|reflection)|change of plans?|nope|nah|h+m+|"
    r"i(?:'ve)? changed my mind(?! (?:on|about|regarding)\b)|changed my mind(?! (?:on|about|regarding)\b)"
    r"|btw|by the way|fyi|nb|n\.b\.|ps|p\.s\.|one (?:more|last) thing|another thing|(?:please )?note(?: that)?"
    r"|(?:quick |gentle )?reminder|as a reminder|important|(?:please |just )?remember(?: that)?"
    r"|(?:do not|don't) forget(?: to| that)?|please|pls|plz|kindly"
    r"|just|in general|generally|while (?:you're|you are|we're) at it|before i forget|for the record|in passing"
    r"|i(?:'d| would) like you to|i (?:want|need) you to)\b(?![\w'-])[\s,.:;!\u2013\u2014-]*)+",
)
"""What only introduces a sentence."""
THIS_WORK = r"(?:project|repo(?:sitory)?|codebase|code base|session|conversation|chat|thread|workspace)"
SCOPE = form(
    r"\b(?:from (?:now|here|this point) on(?:wards?)?|from (?:here|this point) forward|going forward|henceforth"
    rf"|for the (?:rest|remainder) of|(?:in|for|across|throughout) (?:this|the|our) (?:whole |entire )?{THIS_WORK}\b"
    r"|every (?:single )?time|each time|at all times|as a (?:general )?rule|by default|until i (?:say|tell)"
    r"|under no circumstances|no matter what|without exception|any ?more$|in (?:the )?future)",
)
OPENING_SCOPE = form(
    rf"(?:{SCOPE.pattern})(?:\s+(?=(?:we|you|i|please|always|never|use|do|don't)\b)|(?<=\bon)\s+"
    rf"|(?<=forward)\s+|(?<=circumstances)\s+|(?<=rest of) (?:this|the|our) [\w-]+,?\s+"
    r"|[^,.:!]{0,30}[,.:!]\s*)",
)
SCOPE_ALONE = form(
    rf"(?:from now on|going forward|henceforth|(?:for|in) (?:the (?:rest|remainder) of )?(?:this|the|our) "
    rf"(?:whole |entire )?(?:{THIS_WORK}|day|task))[.:!]?",
)
CLAUSE = form(
    r"[,;:\u2013\u2014]\s+|\(|\s--?\s|\s(?=(?:and|but|so) (?:please |also )?(?:never|always|do not|don't)\b)",
)
ASIDE = form(r"\s(?:(?:--?|[\u2013\u2014]|because|since|so that|as per|according to)\s|\()")
"""After it a sentence explains: exact names there do not make it an order of one thing."""

ALWAYS = form(
    r"make it an? (?:habit|rule|point|policy)\b|(?:always|never)\s+(?!mind\b|know\b|knew\b|seen\b|heard\b|had\b"
    r"|did\b)[\w`\"']|.{3,80}, always[.!]*$",
)
ALWAYS_WE = form(
    r"^(?!the|this|that|these|those|it|my)(?:[\w-]+ ){0,2}[\w-]*[a-z]s (?:are|go|have|use|start"
    r"|end|live|get) (?:always|never) \w|"
    r"\b(?:you|we|must|should|shall|please|is to|are to|remind you to|remember to|sure to|want to|be|code|replies"
    r"|answers"
    r"|commits?|tests?) (?:must |should |shall |will |can |may |are to )?(?:always|never) \w",
)
TALE = form(
    r"\b(?:it|they|this|that|which|who) (?:always|never|should never) |\b(?:has|have|had|was|were|did"
    r"|you) (?:always|never)\b|\b(?:we|i|you) (?:always|never) (?:had|have (?:trouble|problems|issues)|ends? up"
    r"|forget|run into|hit|get|got|fail"
    r"|struggle|lose"
    r"|miss|wonder|ended|manage|find|found|know|understand|understood)\b",
)
"""Telling or complaining, where "always" and "never" set nothing."""
FORBID = form(
    r"(?:do not|don'?t|no more|avoid(?! (?:the|this|that|a|an)\b)|stop|refrain from|quit|cease"
    r"|(?:keep (?:your )?)?hands off"
    r"|stay (?:away from|out of|off)"
    r"|steer clear of|keep away from|lay off)\s+(?!(?:worry|know|think|see|mind|get me|bother"
    r"|hesitate|understand|believe|care|remember|recall|have|need|want|like|you|we|i|forget|be (?:sorry|afraid|shy)"
    r"|let me"
    r"|stop|here|there|now|problem|issue|at|the (?:server|process|build))\b|(?:it|that|this)\b(?: now)?\W*$)[\w`\"']",
)
FORBID_WE = form(
    r"\b(?:must not|mustn't|shall not|(?<!user )(?<!users )(?<!account )(?<!client )(?:is|are|we're"
    r"|you're) (?:not allowed|forbidden"
    r"|off[- ]limits|banned|prohibited|taboo|a no-go|verboten|out of bounds|frowned upon)(?! (?:after|because"
    r"|since|by)\b)"
    r"|(?:you|we|nobody|code|files?|tests?|commits?) (?:should not|shouldn't|cannot ever|can't ever)(?! have\b)"
    r"|(?:i|we) (?:do not|don't) want (?:you to|any|to see|us to)|(?:i|we)(?:'d| would) rather (?:you |we )?not)\b",
)
NO_KIND = form(
    r"no (?!problem|worr|need|idea|luck|error|such|one\b|way|matter|rush|change|longer|more|thanks|doubt|wonder"
    r"|clue|point"
    r"|the\b|that|this|it\b|its\b|i\b|you|we\b|not\b|output|result|big|issue|difference|reason|question|let)[a-z-]+"
    r"(?!.*\b(?:found|left|failed|yet|available|happened|seen|changed|is|are|was|were|returned|matched|arrived"
    r"|came|showed|odd|weird|strange|so far|in the (?:\w+ )?(?:queue|log|logs|output|list|inbox|table|console"
    r"|response))\b).*",
)
ABANDONED = form(
    r"(?:we(?:'re| are)? |let's |i )?no longer (?:us(?:e|ing)|want|do(?:ing)?|follow(?:ing)?"
    r"|support(?:ing)?|stor(?:e|ing)|writ(?:e|ing)|keep(?:ing)?|log(?:ging)?|nam(?:e|ing)"
    r"|build(?:ing)?|deploy(?:ing)?)\b",
)
NEGATIVE = form(r"\bnever\b|\blet's (?:not|avoid)\b|\bwe (?:don't|do not)\b|\bi hate\b")
CONDITION = form(
    r"(?:when(?:ever)?|before|after|while|until|unless|once|if|any ?time|as soon as) "
    r"(?:you|we|i|anything|any|an?|each|every|\w+ing)\b",
)
ORDER_AFTER_CONDITION = form(r"(?:you|we) (?:must|should|have to|need to)\b|(?:must|should)\b")
KIND = form(
    r"\b(?:every|each|any|all(?! (?:the|my|of)\b)|only(?! the\b)|instead of|rather than|unless"
    r"|whenever|at most|at least|everywhere|throughout|never|always|both|maximum|exclusively|consistently"
    r"|regularly|frequently|sparingly|often|under \d+"
    r"|(?:wherever|where|if|whenever|when) (?:possible|you can|we can|feasible|it makes sense)|your (?:repl"
    r"|answer|response|message|commit|summar|explanation)\w*)\b",
)
WEAK_KIND = form(r"\b(?:no|not|nothing|without)\b")
"""Of a kind where the object is: "write reports in prose, not in lists"."""
EACH = form(
    r"\b(?:every|each|whenever|unless (?:i|we)|(?:before|when) (?:you|we|any|each|every|\w+ing)"
    r"|after (?:you|we|any|each|every))\b",
)
OWED = form(
    r"\b(?:must(?! have been)|should(?! have)|shall|ought to|have to|has to|needs? to"
    r"|are (?:required|mandatory))\b(?! (?:probably|i"
    r"|we|you)\b)",
)
OWED_KIND = form(
    r"(?:all|any|every|each|only|both|no|new|nobody|no one)\b(?! the)"
    r"|our (?:[\w-]+ ){1,3}must\b|(?:the|our) (?:[\w-]+ )?(?:api|app|application|service|server|system|product"
    r"|library|cli"
    r"|client|backend|frontend|database"
    r"|schema|interface|site|website|package|codebase|program|tool)s? (?:must|has to|have to|shall)\b"
    r"|(?:(?!(?:the|my|these|those|some|more|this|our|its)\b)[\w-]+ ){0,2}(?!this|its|is |was |has |does )[a-z]+s"
    r" (?:must|should|shall|have to|are )"
    r"|(?:you|we) (?:must|should|have to) (?:\w+ ){0,8}(?:every|each|whenever|before|only)\b",
)
DECIDED = form(
    r"(?:(?:switch|move) (?:over )?to (?:[\w.-]+ (?:for|instead)\b|(?-i:[A-Z]))|we(?:'ve"
    r"| have)? (?:decided|agreed|settled|chosen|chose|standardi[sz]ed)"
    r"|let's (?:always |just |all )?(?:use|stick (?:with|to)|go with|standardi[sz]e|adopt|settle on|avoid|never"
    r"|not)\b"
    r"|(?:we'll|we will|we're going to) (?:always |only )?(?:use|stick (?:with|to)|go with|target|support)\b"
    r"|we (?:only |always )?(?:use|write|follow|prefer|target|support|indent|deploy|store|keep"
    r"|name|format|log|host|document|build)\b(?! (?:it|this|that|the|these"
    r"|them|to)\b)"
    r"|we (?:do not|don't) (?:use|write|want|do|commit|support|allow|add|log|mock|target|ship|deploy|put|name)\b"
    r"|the (?:decision|convention|rule|policy) is|my preference is"
    r"|we (?:follow|stick to|adhere to) (?:the|our) |i want (?:every|all|each|any|no|only|your)\b"
    r"|(?:we|i)(?:'ve|'re|'ll| have| are| will)? (?:now |just |all |already )?"
    r"(?:(?:switch(?:ed|ing)?|mov(?:ed?|ing)|migrat(?:ed?|ing)|chang(?:ed?"
    r"|ing)) (?:[\w.-]+ ){0,4}?to|go(?:ing)? with) (?!the\b|a\b|an\b|this\b|that\b|my\b)[\w.`-]"
    r"|(?:let's )?(?:stick|keep|stay) (?:to|with) (?!me\b|us\b|it\b|that\b|this\b|them\b)[\w`]"
    r"|i'd (?:much )?rather (?:use|have|go with|keep|take|see) (?!the\b|it\b|this\b|that\b)\w"
    r"|i(?:'d| would) (?:like|love|want) (?:all|every|each|any|no|only|your|our)\b"
    r"|let's do (?:the |our |all )?[\w -]{2,30} (?:in|with|using|via) (?!the\b|a\b|this\b)\w"
    r"|(?:keep|stay with) (?-i:[A-Z])[\w.]+\W*$|let's (?:just |all |rather "
    r"|instead )?(?:switch to|move to|go for|take|replace|pick)\b"
    r"|i(?:'d)? (?:strongly |much |really )?(?:prefer|rather you|rather we|insist|expect you to|always want|hate"
    r"|only want)\b)",
)
ONCE = form(
    r"\b(?:just yet|yet|for now|this time|this one|right now|for the moment|(?:for )?today"
    r"|(?<!do )next(?! to\b)|at the moment|now(?! on\b))\b"
    r"[.!]?(?=$|[\s,;)])|^(?!we\b|no\b|[\w.-]+ (?:is|are)\b).{0,200}\bhere\b[.!]?(?=$|[\s,;)])|\b(?:for|in|on"
    r"|with) this (?:one |single )?"
    r"(?:test|commit|example|run|time|case|branch|pr|file|function|step|task|ticket|release|change)\b",
)
POINTED = form(
    r"^\W*(?:\w+(?:'\w*)?\s+){1,3}(?:it|(?<!s )that|this|those|these|them|him|her)\b(?! (?:\w+ ){0,3}again)",
)
"""About one thing that was just spoken of."""
SPECIFIC = form(r"\b(?:the|this|that|these|those|my|it|them)\b")
DETERMINED = form(r"\w+ (?:up |down )?(?:the|this|that|these|those|my|it|them|some|an?)\b")
"""An order with one thing as its object."""
ASKED = form(
    r"(?:can|could|would|will|should|shall|do|does|did|is|are|was|why|how|what|which|who|where|have|has|may"
    r"|might|isn't"
    r"|aren't|don't|didn't|doesn't|when (?:did|do|does|will|is|are|was|should|can)) "
    r"(?:you|we|i|it|they|this|that|the|there|he|she)\b",
)

OPINION = form(
    r"(?:i (?:think|guess|wonder|tried|saw|see|noticed|got|get|suppose|believe|wish|thought)|it (?:seems|looks)"
    r"|looks like)\b",
)

HABITS = frozenset(
    "use prefer write reply answer respond keep format name cite end begin start sign address speak explain include"
    " indent quote spell refer treat stick limit call report show ask confirm put leave mark tag follow assume favor"
    " favour wrap round convert summarize summarise translate label pick choose set store document target maintain give"
    " tell act say stay check wait link open handle base return restate be make".split()
)
"""Verbs by which people order how things are done."""
STYLES = frozenset(
    "use prefer avoid stick treat name limit reply answer respond speak indent cite address target"
    " follow favor favour".split()
)
"""Of these, those whose bare object already is a kind: "use tabs"."""
ACTIONS = frozenset(
    "run add commit push test verify update create remove delete review read do send search look lint log validate back"
    " ensure print draft propose list warn notify discuss get have double-check doublecheck build deploy restart record"
    " save clean stop apply".split()
)
"""Verbs of single actions: a rule only with "each", "before you" and their like."""

STOP = frozenset(
    "a about after again all also always am an and any anymore are as at be because been before being both but by can"
    " could do does don doing done dont each either every everything for forget from get go going had has have here how"
    " i if ignore in instead into is it its just keep let longer make matter may me mind more must my need never no not"
    " nothing now of off on once only or our out over please prefer rather rule rules said say session should so"
    " some stick stop such than that the their them then there these they thing things this those to too unless"
    " until up"
    " us use used uses using want was we were what when whenever where which while who will with without would you your"
    " yours ll re ve s t d avoid onwards forward henceforth project told drop decided agreed today actually btw way"
    " note"
    " remember sure".split()
)
