"""English. Every pattern is matched against one clause or sentence with plain apostrophes."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.context.rules import english_marks as marks
from palimpsest.domain.context.rules.english_usage import USAGE
from palimpsest.domain.context.rules.forms import Forms, form, words

_RULE_NOUN = (
    r"(?:rule|instruction|constraint|requirement|restriction|preference|convention|guideline|policy|limit|decision)s?"
)
_NAME = (
    r"(?:(?:that|the|this|our|whole)(?= [\w.+#-]+(?: [\w.+#-]+)? (?:idea|thing|plan|decision|approach|stuff"
    r"|experiment)\b) )?"
    r"((?!(?:the|this|that|those|these|a|an|it|its|them|my|your|his|her|our|about|all|any|some|everything|one|two)\b)"
    r"[\w.+#-]+(?: (?!for\b|as\b|to\b|in\b|on\b|and\b)[\w.+#-]+){0,2}?)"
    r"(?=$|[,.:;!](?:\s|$)| (?:and|in fav\w*|for|as|entirely|altogether|completely|now|instead|idea|thing|plan"
    r"|decision"
    r"|approach|stuff|experiment|last (?:week|month|year|sprint|quarter|time)|yesterday|today|in (?:january"
    r"|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|fall"
    r"|winter)|ages ago|long ago"
    r"|already|a while"
    r"|after all|any ?more|to|with|by|because|since|please|pls)\b)"
)
_ALL_OF_IT = (
    r"(?>(?:(?:all|any|every|each|everything|the|your|you|my|our|these|those|this|that|other|of|about|and"
    r"|prior|previous|preceding|earlier|above|past|former|existing|initial|original|system|standing|old|safety"
    r"|developer|user|custom) )*)"
)
_THEIR_NOUNS = (
    r"(?:instructions|rules|guidelines|constraints|requirements|restrictions|preferences|conventions|policies|limits"
    r"|decisions|directions|directives|orders|commands|messages|prompts?|context|text|conversation)"
)
_OF_A_SUBJECT = (
    r"(?:,? (?:above|before|that|which|i|i've|i'd|you|we|we've|were|was|have|had|been|given|gave|told|said|set|made"
    r"|just|earlier|so far)){0,6} (?:about|on|regarding|concerning|around|against|for(?! (?:now|this|the rest"
    r"|me)\b))\b"
)
_SWEEPING = form(
    r"\b(?:ignor(?:e|ing)|forget(?:ting)?|disregard(?:ing)?|discard(?:ing)?|overrid(?:e|ing)|overrule|drop(?:ping)?"
    r"|cancel|delete|erase|clear|overlook|bypass|revoke|lift|undo|reset|remove|withdraw|scratch|skip|never ?mind"
    r"|(?:stop|never|don't|do not|not|no longer|without)(?: (?:need|have) to)? (?:follow|obey|heed|respect)(?:ing)?) "
    rf"(?:{_ALL_OF_IT}{_THEIR_NOUNS}\b(?!{_OF_A_SUBJECT})"
    r"|(?:all of )?(?:the |any |your |each |every )+(?:(?:prior|previous|preceding|earlier|above) )*(?:rule"
    r"|instruction)\b"
    rf"(?= (?:above|before|so far))|(?:any|every|each) (?:\w+ )?(?:rule|instruction)\b(?!{_OF_A_SUBJECT})"
    rf"|(?:everything|anything|all (?:that|this|of (?:that|this|it)|i|you|we|above|before))\b(?!{_OF_A_SUBJECT})"
    r"|(?:the |all the )?(?:above|foregoing|preceding)\b)"
    rf"|^(?=\w+ )(?>(?:(?:all|any|every|the|your|my|our|these|those|of|prior|previous|preceding|earlier|above"
    rf"|existing"
    rf"|old) )+){_THEIR_NOUNS}\b(?: [\w']+){{0,4}}? (?:are|no longer|do not|don't|have been)\b"
)
"""With no subject: what was pasted says so, and who means it can unpin and clear by commands."""
_PASSED_ON = form(
    r"\b(?:sent|sends?|says?|said|writes?|wrote|written|reads|posted|pasted|replied|told|got|received|found"
    r"|quot(?:e|es|ed)"
    r"|copied|forwarded|returned|prints?|printed|outputs?|shows?|showed|reports?|reported|complains?|answered"
    r"|commented"
    r"|suggested|messaged|mailed|(?:text|message|mail|email|e-mail|comment|log|logs|output|error|issue|ticket|article"
    r"|page|prompt|transcript|readme|docs?|documentation|review|thread|snippet|file|document|answer|response"
    r"|input))\b"
)
_SAID_MYSELF = form(r"\bi(?:'ve| have)? (?:just |already )?(?:said|say|told|wrote)\b")
_OVER = (
    r"(?:off the table|happening|going to happen|history|out(?! of\b)|gone|dead|done for|no longer an option"
    r"|not an option(?: any ?more)?"
    r"|(?:a |an )?"
    r"(?:\w+ )?(?:overkill|mistake|bad (?:idea|choice|fit)|dead end)|(?:been )?(?:dropped|scrapped|abandoned"
    r"|retired|ditched"
    r"|axed|shelved|replaced|phased out|rejected)|on its way out|not worth it)"
)
_GIVE_UP = (
    r"(?:drop(?:ped|ping)?|ditch(?:ed|ing)?|forget|abandon(?:ed|ing)?|get(?:ting)? rid of|scrap(?:ped|ping)?"
    r"|throw out"
    r"|giv(?:e|ing) up on|gave up on|retir(?:e|ed|ing)|remov(?:e|ing)|kick(?:ed)? out|kill(?:ed)? off|stop(?:ped"
    r"|ping)? using"
    r"|quit using|mov(?:e|ed|ing) (?:away from|off)|left|leav(?:e|ing) behind|ax(?:e|ed)|shelv(?:e|ed)|nix"
    r"|revert(?:ed)?"
    r"|(?:are |am |'re |'m )?done with|phas(?:e|ed|ing) out|rip(?:ped)? out|back(?:ed|ing)? out of"
    r"|said goodbye to|parted with)"
)
_NOW = r"(?: again| now| after all)"

ENGLISH: Final = Forms(
    name="English",
    markers=words(
        "the and is are was to of in for with on it you we i they that this not be do don't please should must have has"
        " from at by an as if or no my your our all but so what how why can could would will just always never let's"
        " instead now any more every each only before after when than may me without new us"
        " there their which who while use"
        " need needs were been being does did doing has he she them these those then about into out up over"
    ),
    lead_in=marks.LEAD_IN,
    scope=marks.SCOPE,
    opening_scope=marks.OPENING_SCOPE,
    scope_alone=marks.SCOPE_ALONE,
    clause=marks.CLAUSE,
    aside=marks.ASIDE,
    always=marks.ALWAYS,
    always_we=marks.ALWAYS_WE,
    tale=marks.TALE,
    forbid=marks.FORBID,
    forbid_we=marks.FORBID_WE,
    no_kind=marks.NO_KIND,
    abandoned=marks.ABANDONED,
    negative=marks.NEGATIVE,
    condition=marks.CONDITION,
    order_after_condition=marks.ORDER_AFTER_CONDITION,
    kind=marks.KIND,
    weak_kind=marks.WEAK_KIND,
    each=marks.EACH,
    owed=marks.OWED,
    owed_kind=marks.OWED_KIND,
    owed_bare=form(
        r"(?:must|has to|have to) (?:not |never |always |also |still )?(?!be (?:kidding|the|some"
        r"|because|that|this|my|your|me|us)\b|have been)\w+ \w"
    ),
    decided=marks.DECIDED,
    choice=form(
        r"(?:we|i)(?:'ve| have)? (?:decided|agreed|settled|chosen|chose|picked|opted|switched|moved|migrated)\b"
        r"|we (?:will |'ll )?go with\b|let's (?:just |instead )?(?:use|go with|switch to"
        r"|stick (?:with|to)|take|adopt)\b"
    ),
    standing=form(
        r"(?!(?:the|these|those|they|my|you|we|it|this|that|all|both|some"
        r"|most)\b)(?:[\w-]+ ){0,3}[\w-]*[a-z]s (?:start|begin|end|go|come) (?:with|in|as|over|through) "
        r"|(?!(?:the|these|those|they|my|this|that)\b)(?:[\w-]+ ){0,3}[\w-]*[a-z]s:? (?:at most|max\.?|maximum"
        r"|under|up to|no (?:more|longer) than|below) \d+ \w+\W*$"
        r"|(?:nobody|no one) (?!knows|else|cares|noticed|is\b|was\b|uses)(?:[a-z]+s) (?:the|our|to|any|directly)\b"
        r"|(?:when|if) (?:in doubt|unsure|not sure), \w"
        r"|(?:any|all|every) (?:[\w-]+ ){1,2}(?:that|which) [\w ]{2,30} (?:requires?|needs?|must|gets?|has to) \w"
        r"|(?:it's|it is) (?:a|our) (?:house )?(?:rule|policy|convention) that \w"
        r"|(?:you|we) (?:may|can|must) not \w+ [\w -]{3,40} (?:on your own|yourself|without [\w ]+)\W*$"
        r"|[\w-]+s: [\w-]+ (?:only|always)\W*$|"
        r"(?:our|the|my) (?:[\w-]+ ){0,2}(?:convention|rule|policy|style|standard|guideline)s?(?: here)?(?: is\b|:)"
        r"|(?:everything|anything|nothing)(?: (?!is\b|was\b|on\b)[\w-]+){0,3}? (?:gets?|needs?|has to|must|goes"
        r"|stays|should|lives?|is to) "
        r"|(?:new|all|any) (?!the\b)(?:[\w-]+ ){0,2}[\w-]+ (?:needs?|requires?|wants?|goes through"
        r"|go through) (?!\d)[a-z]"
        r"|(?:all|every) (?!the\b|of\b|my\b|tests? )(?:[\w-]+ ){1,3}(?:is|are|stays?) (?:in|at|under|via|through"
        r"|within|kept) "
        r"|(?!(?:the|these|those|they|my|you|we|it|this|that)\b)(?:[\w-]+ ){0,2}[\w-]*[a-z]s (?:are|get|go|stay"
        r"|should be) "
        r"\w+(?: \w+){0,3}, (?:not|never) (?:\w+ ?){1,4}\W*$"
        r"|only (?!the\b|one\b|two\b|three\b|a\b|an\b|this\b|that\b|my\b|\d)[\w-]+(?: [\w-]+)? (?:in|for|as|on"
        r"|inside|within) "
        r"[\w -]{2,30}\W*$"
        r"|[\w.+#'-]+(?: [\w.+#'-]+)? (?:for|in) [\w -]{2,24}, [\w.+#'-]+(?: [\w.+#'-]+)? (?:for|in) [\w -]{2,24}\W*$"
        r"|(?!(?:fix|run|check|add|write|show|see|update|rename|delete|remove|commit|push|review|squash|rerun"
        r"|revert|merge|the"
        r"|these|those|my|split|list|move|copy)\b)(?:[\w-]+,? ){1,3}(?:answers|replies|responses|explanations"
        r"|summaries"
        r"|messages|commits|functions|names|comments|diffs|prs|tests|docs|variables|sentences|lines|types|imports)"
        r"(?: in [a-z]+)?,? (?:only|please|pls|plz)\b"
        r"|(?:answers|replies|responses|explanations|summaries|commit messages|comments|docs|docstrings|names)"
        r" (?:in|as|without|with) (?!the\b)[\w -]{2,30}\W*$"
        r"|[\w.+#-]+(?: [\w.+#-]+)? (?:is|are) (?:a no-go|taboo|verboten|prohibited|strictly \w+)\b"
        r"|max(?:imum|imal)? (?:[\w-]+ ){1,3}(?:is|of|=)? ?\d+"
        r"|(?:[\w-]+ ){1,4}(?:in|as|with) [\w -]{2,30} only\W*$"
        r"|(?!(?:the|this|that|these|those|is|as)\b)(?:[\w-]+ ){0,2}[\w-]*[a-z]s (?:always )?(?:go|belong|live|stay) "
        r"(?:in|into|next to|under|beside|with)\b"
        r"|(?:all|every|each) (?!the\b|of\b|my\b)(?:[\w-]+ ){1,3}(?:needs?|gets?|requires?|goes|go|has its|have"
        r"|(?:is|are) (?:always )?(?:based|stored|written|kept|named|typed|reviewed|signed"
        r"|encrypted|tested|documented)) "
        r"|(?:nobody|no one) (?:may|can|must|should|is allowed to) "
        r"|nothing (?:[\w-]+ ){0,4}(?:may|must|should|is to|gets?)\b(?! wrong)|without (?:my"
        r"|our) [\w ]{2,30}[, ] ?(?:nothing|no) "
        r"|only (?:ever )?(?:use|touch|edit|change|modify|run|install|call|merge|create|delete"
        r"|write|import|commit|deploy|push|log|add|support|target|answer|reply)\b"
        r"|(?:all|every) (?:new|our) [\w-]+ (?:is|are|gets?) [a-z]|(?:use"
        r"|prefer) the [\w.`-]+ (?:library|package|framework|module|driver|client|tool"
        r"|plugin)\b|(?:write|keep|put) (?:all |our )?[\w -]{2,30}? in (?:english|french|german"
        r"|spanish|italian|dutch|chinese|japanese)\b"
        r"|(?:make sure|be sure|ensure|see to it)(?: that)? (?:you |we |to )(?:always|never)\b"
        r"|leave (?:the |all |any )?[\w /.`-]{2,40} alone\b"
        r"|[\w .+#'-]{3,40},? (?:from now on|going forward)[,.! ]*(?:please)?[.!]*$"
        r"|(?!restart|make|add|do|try|run|fix)[\w.+#-]+(?: [\w.+#-]+){0,2} (?:instead of"
        r"|rather than) (?!\w+ing\b)[\w.+#-]+(?: (?!the\b)[\w.+#-]+){0,2}"
        r"[,.! ]*(?:please)?[.!]*$"
        r"|[\w.+#-]+ [\w.+#-]+,? please, not [\w ]+\W*$"
    ),
    restated=form(
        r"[\w.+#-]+(?: [\w.+#-]+){0,2} instead[,.! ]*(?:please)?[.!]*$|[\w.+#-]+ it is\W*$"
        r"|[\w.+#-]+(?: (?:for|in|as) [\w.+#-]+){1,2}(?:,? and [\w.+#-]+ (?:for|in"
        r"|as) [\w.+#-]+)?(?:,? (?:not|please)\b[\w ,.]{0,30})?\W*$"
    ),
    habits=marks.HABITS,
    styles=marks.STYLES,
    actions=marks.ACTIONS,
    asked=marks.ASKED,
    told=form(
        marks.OPINION.pattern + r"|(?:make sure|ensure|check)(?: that)? (?:the|this|that|it|its)\b"
        r"(?!.*\b(?:every|each|before you|whenever)\b)"
        r"|(?:maybe|perhaps|suppose|supposing|assume|assuming|imagine|say|let's say|what if"
        r"|if (?:we|i|you) (?:used|had"
        r"|were|would)|according to|yesterday|last (?:week|month|year|time)|some(?:one| people| say)?\b"
        r"|(?:he|she|they|someone|somebody|(?:my|the|our) [\w-]+) (?:just )?(?:said|says|told"
        r"|tells|asked|wants|suggested"
        r"|claims?|complains?|insists|thinks|mentioned|wrote)|the (?:docs?|documentation|readme|manual|linter"
        r"|compiler)"
        r" (?:says?|tells?|complains?|states?|claims?)|i would\b|i'd never|you must be|that must\b)"
    ),
    told_within=form(r"\b(?:some day|someday|eventually|one day|would you|what do you think|your opinion)\b"),
    task=form(
        r"(?:now )?(?:write|implement|fix|create|add|build|make|develop|generate|draft|refactor|design|code|rewrite"
        r"|rename|move|change|extract|delete|remove|set up|set|put|turn|show|open) (?:me |us |up )?(?:an?|the|this"
        r"|that|one|another|some|its?|my"
        r"|(?-i:[A-Z])\w*|`)"
    ),
    relative=form(r"\b(?:that|which|who|where|so that|such that|whose|and (?:make sure|ensure))\b"),
    one_thing=form(
        r"(?:it|this|that|(?:the|this|that) (?:new |old )?(?:function|method|test|script|parser"
        r"|class|command|button|query"
        r"|result|output|file|page|list|loop|variable|value|field|helper|test case|dialog|handler|component)s?) "
    ),
    once=marks.ONCE,
    pointed=marks.POINTED,
    specific=marks.SPECIFIC,
    determined=marks.DETERMINED,
    purpose=form(r"\s(?:for|as|when|on|wherever|where)\s"),
    turned=form(
        r"(?:(?:nope|nah|no|ok(?:ay)?|h+m+|well|oh|sorry|actually|wait)[,.! ]+){0,3}"
        r"(?:(?:(?:let's |we(?:'ll|'re)? |please |i want to )?(?:go(?:ing)?|switch(?:ing)?|move|revert|return"
        r"|come|turn) )?back to"
        r"|(?:let's )?make (?:that|it)|rather|better|(?:nope|nah|no|h+m+|wait|sorry"
        r"|actually)[,.! ]+(?=.*\b(?:after all|then"
        r"|please|instead|it is)\W*$)|(?:nope|nah|no|h+m+|wait|sorry|actually)[,.!]+|i(?:'d)? (?:rather"
        r"|prefer)(?: to)?"
        r"(?: use| have| go with)?|on second thoughts?,?)"
        r" (?P<what>(?!(?:the|this|that|my|it|a|an|use|using)\b)[\w.+#-]+(?: [\w.+#-]+){0,2}?)"
        r"(?: (?:after all|then|again|please|pls|instead|it is|for now on|from (?:now|here) on))*\W*$"
    ),
    heading=form(
        r"(?:we(?:'re| are)?|this (?:codebase|repo|repository|project|code|app|service)|let's|keep|our|i'd"
        r"|i want|everything|all)\b"
    ),
    change=form(
        r"\b(?:actually|instead|on (?:second thoughts?|reflection)|back to|scratch that|change of plans?"
        r"|changed my mind"
        r"|after all|switch(?:ed|ing)?"
        r"|mov(?:ed|ing) (?:[\w-]+ ){0,4}to|migrat\w+|replac\w+|no longer|any ?more|from now on|rather)\b"
    ),
    instead=form(r"\binstead\b(?! of)|\brather\b(?! than)"),
    withdrawn=form(
        r"(?:you (?:can|may) |let's |we )?(?:forget|ignore|drop|scratch|cancel|disregard|lift"
        r"|revoke|withdraw|remove|undo"
        rf"|never ?mind|skip|reversed?)\b(?=.*(?:\b{_RULE_NOUN}\b|\b(?:what|everything|anything|all|things) (?:i"
        rf"|we)(?:'ve)? (?:just |ever )?(?:said|told you|asked|agreed)))"
        r"|(?:you|we|[\w ]{3,40}) (?:no longer (?:need|have)|(?:don't|doesn't|do not|does not|need not)"
        r" ?(?:need|have|be)?(?=.*\bany ?(?:more|longer)\b)) ?to\b"
        r"|[\w ]{2,40} no longer (?:needs?|has|have|requires?|must)\b"
        r"|no need to\b(?=.*\bany ?(?:more|longer)\b)|you (?:can|may) stop \w+ing\b"
        r"|[\w' -]{3,60} (?:is|are) (?:no longer (?:required|needed|necessary|mandatory|in force|valid)"
        r"|not (?:required|needed|necessary|mandatory) any ?(?:more|longer))\b"
        rf"|(?:that|the|this)\b(?=[^,]*\b{_RULE_NOUN} (?:(?:\w+ ){{0,4}})(?:no longer applies"
        rf"|(?:is|are) (?:off|gone|withdrawn"
        r"|lifted|void)))"
        r"|(?:i(?:'ve| have)? )?(?:changed my mind|had second thoughts) (?:on|about|regarding) \w"
        r"|(?:just |simply )?[a-z]+(?: [\w.-]+){0,3} without (?:asking|\w+ing)\b(?=.*\b(?:from (?:now|here) on|again"
        r"|any ?more|going forward)\b)"
        r"|(?:skip|omit)\b(?=.*\bfrom now on\b)"
    ),
    unnamed=form(
        r"(?:no,? )?(?:scratch|forget|ignore|disregard|strike|cancel) (?:that|this"
        r"|it)\b(?=\s*(?:[,.:;!\u2013\u2014-]|$))|(?:i(?:'ve)? )?changed my mind\b(?! (?:on|about|regarding)\b)"
        r"|change of plans?\b"
    ),
    thought=form(
        r"(?:ultra ?think|think (?:(?:super|really|very|extra|more|long and|this) ?)*(?:hard|harder|deeply|deeper"
        r"|carefully|thoroughly)|reflect (?:further|again|more))\b"
    ),
    sweeping=_SWEEPING,
    passed_on=_PASSED_ON,
    said_myself=_SAID_MYSELF,
    dropped=(
        form(
            rf"(?:let's |(?:we|i)(?:'re|'m| are| am|'ll| will|'ve| have)? )?(?:(?:now|just|since|already"
            rf"|finally|recently) )?{_GIVE_UP} {_NAME}"
        ),
        form(
            rf"((?!(?:it|this|that|he|she|they)\b)[\w.+#-]+(?: [\w.+#-]+)?) (?:is|are|was|were|has|have"
            rf"|turned out to be)"
            rf"(?: (?:now|just|too|really|officially|simply|completely))? {_OVER}(?=$|\W*$|[,.;:!]| (?:for|and"
            rf"|in fav))"
        ),
        form(r"([\w.+#-]+(?: [\w.+#-]+)?) ?(?:->|=>|-->|\u2192) ?[A-Za-z][\w.+#-]*(?=$|[,.;:! ])"),
        form(
            rf"(?:let's|(?:we|i)(?:'re|'m| are| am)?) (?:won't|will not|don't|do not|no longer"
            rf"|not)(?: be)? (?:us(?:e|ing)|go(?:ing)? with|tak(?:e|ing)|do(?:ing)?|need|want) {_NAME}"
        ),
        form(
            rf"(?:let's |we(?:'ll| will|'ve| have)? |please )?(?:replac(?:e|ed|ing)|swap(?:ped|ping)?|trad(?:e"
            rf"|ed|ing)|exchang(?:e|ed|ing))(?: out)? {_NAME}"
        ),
        form(rf"[\w.+#-]+ replaces {_NAME}"),
        form(r"([\w.+#-]+) (?:has been|was|is|got) (?:replaced|superseded|swapped(?: out)?) (?:by|with|for) "),
        form(rf"(?:we|i)(?:'ve| have)? decided against {_NAME}"),
        form(
            r"(?:let's |we(?:'ve| have|'re|'ll)? |i )?(?:(?:now|just|already|since|recently|finally) )?(?:switch"
            r"|mov|migrat|chang)(?:e|ed"
            r"|ing)? "
            rf"(?:the )?(?:[\w-]+ ){{0,3}}from {_NAME}"
        ),
    ),
    permitted=form(
        rf"(?:it is |it's )?(?:(?:you|we)(?: can| may|'re allowed to| are allowed to)|ok(?:ay)? to"
        rf"|fine to|allowed to)\b(?=.*{_NOW}[.!]?$)"
        rf"|[\w' -]{{2,50}} (?:is|are) (?:okay|ok|fine|allowed|permitted"
        rf"|welcome)(?: (?!the\b)[\w.#+-]+){{0,3}}{_NOW}(?=\W*$|,)"
    ),
    about=form(
        rf"\b{_RULE_NOUN}\b|\b(?:applies|apply|gone|earlier|previous|last|fine|okay|allowed"
        rf"|permitted|welcome|asked|request"
        r"|withdrawn|lifted|required|necessary|mandatory|reversed?|against|running|changed|mind|thoughts|without"
        r"|simply|asking)\b"
    ),
    rule_noun=form(rf"\b{_RULE_NOUN}\b"),
    rejected=(
        form(
            r"(?:\b(?:instead of|rather than|over|no longer use|in place of)"
            r"|(?<=, )not)\s+((?:(?!(?:we|i|you|use|let's|please|take|for|after"
            r"|everywhere)\b)\w[\w.-]*\s*){1,3})"
        ),
    ),
    chosen=(
        form(
            r"\buse the (?P<what>[\w.-]+) (?:library|package|framework|module|driver|client|tool|plugin)"
            r"(?: for (?P<purpose>[\w-]+))?"
        ),
        form(r"\blet's do (?:the |our )?(?P<purpose>(?:[\w-]+ ){1,3})(?:in|with|using) (?P<what>[\w.+#-]+)"),
        form(
            r"\b(?:switch(?:ed|ing)?|mov(?:ed|ing)|migrat(?:ed|ing)) (?:the |our )?(?P<purpose>(?!from\b|to\b|over\b)"
            r"(?:[\w-]+ ){1,3}?)(?:over )?to (?P<what>(?!the\b|an?\b)[\w.+#-]+)"
        ),
        form(
            r"\b(?:us(?:e|ing)|go(?:ing)? with|tak(?:e|ing)|stick (?:with|to)|switch(?:ed"
            r"|ing)? to|mov(?:ed?|ing) to|adopt"
            r"|prefer|ch[oo]+se|pick(?:ed)?) (?P<what>(?!the\b|an?\b)[\w.+#-]+(?: (?!for\b|as\b)[\w.+#-]+)?)"
            r"(?: (?:for|as) (?P<purpose>(?:[\w-]+ ?){1,4}))?"
        ),
    ),
    scopes=words("cod project repo file session everyth function class test"),
    rivals=tuple(
        words(group)
        for group in (
            "tab spac",
            "metric imperial",
            "singl doubl",
            "camelcas camel-cas snake_cas snake-cas snake kebab-cas pascalcas",
            "npm yarn pnpm bun",
            "pip poetry uv conda pipenv",
            "pytest unittest nos",
            "merg rebas squash",
            "british american",
            "english german french spanish italian dutch portugues japanes chines",
            "formal formally informal informally casual casually",
            "short brief concise long detail verbos",
        )
    ),
    topics=words("indent indentation unit quot naming nam packag manager spell languag repli reply answ"),
    stop=marks.STOP | words("okay ok second thought plan instead switch move replace it's wherever makes sense after"),
    doubling=words("ing ed"),
    suffixes=("ations", "ation", "ings", "ing", "ied", "ies", "ed", "es", "s", "e"),
    usage=USAGE,
)
