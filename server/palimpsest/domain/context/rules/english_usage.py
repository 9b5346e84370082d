"""English: habits, single steps, permission and giving up, by classes of words."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.context.rules.forms import Usage, form, words

_ONE_THING = r"(?:the|this|that|these|those|it|them|him|her|my|some)\b"
_NAME = (
    r"(?P<what>(?!(?:the|this|that|these|those|it|they|we|you|i|there|which|what|everything|nothing|an?)\b)"
    r"[\w.+#/-]+(?: [\w.+#/-]+){0,2}?)"
)
_END = (
    r"(?=\W*$|[,.;:!?] |[,;:]| (?:and|but|for|in fav\w*|so|because|since|now|here|with|by|to|from|on|altogether|last"
    r"|yesterday|already|recently|ages|in (?-i:[A-Z0-9])\w*|entirely|please|pls|after all"
    r"|any ?more|idea|thing|stuff|as|then)\b)"
)
_FROM_NOW = r"(?: (?:again|now|too|from (?:now|here|today) on(?:wards?)?|after all|going forward|these days))+"
_FINE = r"(?:ok(?:ay)?|fine|allowed|permitted|welcome|alright|all right|acceptable|good|possible)"
_ANY_MORE = r"(?:any ?more|any longer|from now on|going forward)"
_CHOOSE = r"(?:us(?:e|ing)|tak(?:e|ing)|go(?:ing)? (?:with|for)|switch\w*|let's|we|mov(?:e|ing))"
_GIVEN_UP = (
    r"(?:get(?:ting)? rid of|forget(?: about)?|ditch(?:ed|ing)?|dump(?:ed|ing)?|scrap(?:ped|ping)?|toss(?:ed|ing)?"
    r"|drop(?:ped|ping)|abandon(?:ed|ing)?|(?:do(?:ing)?|be(?:ing)?|go(?:ing)?) (?:away )?without|part(?:ed"
    r"|ing)? ways with"
    r"|mov(?:ed?|ing) (?:on |away )?from|switch(?:ed|ing)? (?:away )?from|replac(?:ed|ing)|retir(?:ed|ing)"
    r"|say goodbye to|turn(?:ed|ing)? (?:our|my) backs? on)"
)

USAGE: Final = Usage(
    request=form(
        r"(?:can|could|would|will) you (?:please |pls |maybe )?(?=(?:always|never|only) (?!see|know|find|get|have"
        r"|be|hear|tell|feel|remember|reproduce)[a-z]|(?:please )?stop \w+ing\b|\w+ .*\b(?:from (?:now"
        r"|here) on|always"
        r"|every (?:single )?time|in (?:the )?future|going forward)\b)"
    ),
    plea=form(
        r"(?:you(?:'ll| will)? (?:(?:always )?(?:have|need)|are (?:supposed|expected|required)|'re (?:supposed"
        r"|expected))"
        r" to(?! (?:be|have|see|know)\b)|try (?:to|and)|(?:please )?see that you|(?:recall|mind|be aware|be reminded"
        r"|understand)(?: that)?(?= (?:you|we) )"
        r"|(?:it(?:'d| would) be|would be) (?:great|nice|good|cool|awesome|best|helpful"
        r"|better) if (?:you|we)(?: could|"
        r" would|'d)?|i(?:'d| would) (?:really )?appreciate (?:it )?if you(?: could| would)?"
        r"|(?:an?|one|another|the|new|house|ground|simple|my) (?:[\w-]+ )?(?:rule|request|wish|thing|convention)"
        r"(?: (?:for|from|about) [\w ]{1,24})?\s*[:\u2013\u2014-]"
        r"|(?:no,? )?that(?:'s|s| is) (?:not right|wrong|not (?:what|how) \w+(?: \w+)?)"
        r"|next time(?: and (?:always|every time))?[:,]|(?:as of|starting|beginning|effective) (?:today|now|tomorrow)"
        r"|(?:always )?(?:bear|keep) in mind(?: that)?|whatever (?:you do|happens)|in all cases|at any rate)"
        r"(?![\w'])[\s,:;\u2013\u2014-]*"
    ),
    assent=form(r"(?:yes|yeah|yep|yup|yea|sure|exactly|correct)\b[\s,.!]"),
    past=form(
        r"\b(?:back then|in the past(?! tense)|back in the day|at my (?:last|old|previous|former) \w+|in my (?:last"
        r"|old|previous) \w+"
        r"|(?:(?<!the )last (?:year|month|week|time)|the other (?:day|week))|(?:we|i|they|you|it|he|she) used to"
        r"|(?:we|i|they|you|he|she) had to|years? ago|would (?:never|always|not) have)\b"
    ),
    momentary=form(
        r"\b(?:before|until|once) (?:we|you|i) (?:start|begin|continue|proceed|go on|dive in|move on|implement)\b"
        r"|\bjust this once\b|\bfor the time being\b|\bthis once\b"
    ),
    made=form(
        r"(?:list|show|give|print|provide|send|write out)(?: me)? the [\w ]{3,30} (?:of|for|in) (?:each|every"
        r"|all) [\w ]{2,30}"
        r"(?:,| --?| \u2013| \u2014) |"
        r"(?:add|write|implement|create|build|make) (?!sure\b|it\b|every\b|each\b|all\b|any\b)(?:an? |the )?"
        r"[a-z-]+(?: [a-z-]+){0,3}: "
        r"|(?:add|write|implement|create|build|make|change|fix) [\w`. -]{2,60} (?:so that|such that|that checks"
        r"|which checks"
        r"|(?:that|to) (?:ensure|verif|test|check|make)\w*) "
    ),
    habitual=form(
        r"(?:each|every) [\w-]+(?: [\w-]+)? (?:has|gets|carries) (?:an?|its|one|exactly|at least) [\w -]{2,40}\W*$|"
        r"(?:all|any|every|each) (?!the\b|of\b|my\b|this\b)[\w-]+(?: [\w-]+)? (?:in|as|via|with|under|through|over)"
        r" (?!the\b|this\b|that\b|line\b)[\w.-]+(?: [\w.-]+){0,2}\W*$"
        r"|(?:only |at most |exactly |max\.? )?(?:one|a single|two|three|\d+) [a-z-]+(?: [a-z-]+)? (?:per|for (?:each"
        r"|every)"
        r"|in each) [a-z-]+(?: [a-z-]+)?\W*$"
        r"|(?!(?:the|this|that|an?|it|got|total|out|line)\b)[a-z-]+(?: [a-z-]+)? of (?:at most "
        r"|at least )?\d+ [a-z-]+\W*$"
        r"|(?:the |our |all )?(?:[\w-]+ ){0,2}[\w-]*[a-z]s (?:must|have to|need to|ought to|are to)"
        r"(?: always| never| not| all)? (?!have (?:been|had|got|lost|gone)\b)[a-z]"
        r"|(?:i|we) (?:expect|require|demand|insist on|want|need) (?:every|all|each|any|no|two|three|one"
        r"|\d+)\b(?! (?:more"
        r"|of|thing)\b)(?!.*\b(?:now|here|today)\W*$)"
        r"|use the [\w.`/-]+(?: [\w-]+)? for (?!(?:the|this|that|these|those|my|now|it|today)\b)(?:[\w-]+ ){0,3}"
        r"[\w-]*[a-z]s(?: (?:as per|according to|like|as) .{1,80})?\W*$"
        r"|use the (?:[\w.`/-]+ )?(?:v?\d[\w.]*|[\w.`/-]+) (?:api|sdk|protocol|version|format|style"
        r"|pattern|syntax)\W*$"
        r"|(?:keep|write|name) (?:your |our |all )?(?!(?:the|it|this|that|them|track|notes)\b)[a-z-]+(?: [a-z-]+)?s"
        r" (?:as )?(?:\w+ )?(?:short|small|simple|thin|lean|minimal|pure|clean|tidy|brief|low|separate|private|flat"
        r"|generic"
        r"|immutable|stateless|concise|readable|consistent|focused|independent|first|lazy|sorted"
        r"|together)\b[\w ]{0,30}\W*$"
        r"|(?:put|store|place|save|define|declare) (?!(?:the|it|this|that|them|these|those|my|an?)\b)[a-z-]+s (?:in"
        r"|into|under"
        r"|next to|beside|at|to) (?!(?:this|that|it)\b)[\w./`-]+(?: [\w./`-]+){0,2}\W*$"
        r"|deploy (?:(?:with|via|using) \w|(?:to|on) (?-i:[A-Z])\w+\W*$)"
        r"|(?:comment|document|type|annotate|test|cover|sign|tag|number|date|version) (?:every|each"
        r"|all) (?!of\b|the\b)"
        r"(?:[a-z-]+ ?){1,3}\W*$"
        r"|we(?:'re| are) (?:now on (?!the\b|it\b)[\w.+#-]+|on (?!the\b|it\b)[\w.+#-]+ now)\W*$"
        r"|it(?:'s| is) (?:important|mandatory|required|essential|crucial|vital|imperative) (?:that|to) (?!it\b"
        r"|this\b)[a-z]"
    ),
    barred=form(
        r"(?:you|we|nobody|one) (?:can't|cannot|can not|may not|mustn't|must never|may never|can never) (?:ever )?"
        rf"(?:use|add|edit|change|touch|delete|remove|push|merge|commit|install|import|log|call"
        rf"|write) (?!{_ONE_THING})[\w.`/*]"
        r"|(?:you|we)(?:'re| are) (?:never|not|only) (?:supposed )?to [a-z]"
        r"|(?:you|we)(?:'re| are)(?: not|n't) allowed to [a-z]"
        rf"|i (?:really |just )?(?:don't|do not|can't) (?:like|want|stand) (?!{_ONE_THING})(?!to\b|you\b)[a-z-]+"
        rf"|i (?:really )?(?:dislike|detest|loathe) (?!{_ONE_THING})[a-z]"
    ),
    ended=(
        form(
            rf"(?:let's |(?:please )?|(?:we|i)(?:'re|'ve|'ll|'m| are| have| will)? )?{_GIVEN_UP} (?:the |our "
            rf"|all (?:the )?)?"
            rf"{_NAME}{_END}"
        ),
        form(
            rf"(?:the |our )?{_NAME} (?:is|are|was) (?:(?:way|far|just|simply|a bit) )?(?:too |overkill|out\b|dead"
            rf"|gone|history)"
            rf"[^,;.]{{0,40}}[,;.]\s*(?:so )?{_CHOOSE}\b"
        ),
        form(
            rf"(?:the |our )?{_NAME} (?:is not|are not|isn't|aren't|is no longer|are no longer|won't be"
            rf"|will not be) (?:being )?"
            rf"(?:used|needed|required|wanted|supported|an option|part of)\b(?=[^,;]*\b(?:no longer|{_ANY_MORE})|.*)"
            rf"(?:(?<=used)|(?<=needed)|(?<=wanted)|(?<=option)|(?<=supported)|(?<=required)|(?<=of))"
            rf"(?= {_ANY_MORE}|(?:(?<=longer used)|(?<=longer needed)|(?<=longer wanted)|(?<=longer supported)"
            rf"|(?<=longer required)|(?<=longer an option)))"
        ),
        form(rf"(?:i|we) (?:don't|do not) (?:want|need|use|like) {_NAME} (?:any ?more|any longer|after all)"),
        form(rf"(?:i|we) no longer (?:want|need|use|like|do) (?:to use )?{_NAME}{_END}"),
        form(rf"(?:nobody|no one) (?:uses|needs|wants|likes) {_NAME} (?:any ?more|any longer)"),
        form(rf"{_NAME} (?:isn't|is not|aren't|are not) (?:happening|going to happen|an option|worth it)\b"),
        form(rf"no {_NAME} (?:any ?more|any longer)\b"),
        form(rf"i was (?:wrong|mistaken) (?:about|on|with) (?:the )?{_NAME}{_END}"),
        form(r"(?:no|not) (?P<what>[\w.+#-]+), (?:but )?(?:use )?[\w.+#-]+(?: [\w.+#-]+)?\W*$"),
    ),
    unneeded=(
        form(r"(?:there's |there is )?no (?:more )?need (?:to|for|of) (?P<what>[^,;:]{3,80})"),
        form(
            r"(?:you|we|i) (?:don't|do not|needn't|need not|no longer)(?: (?:need"
            r"|have))?(?: to)? (?P<what>[^,;:]{3,80}?)"
            rf" {_ANY_MORE}"
        ),
        form(
            r"(?:you|we) (?:can|may|could) (?:now )?(?:skip|omit|leave out|leave off|drop|forget|stop)(?: the| our"
            r"| doing)?"
            r" (?P<what>(?!(?:the|this|that|it)\b)[^,;:]{3,80})"
        ),
        form(r"(?:please )?no more (?P<what>(?!of\b|than\b)[a-z][\w-]+(?: [\w-]+){0,3})\W*$"),
    ),
    freed=(
        form(rf"(?P<what>[^,;:]{{3,60}}?) (?:is|are|becomes?) (?:now |once more )?{_FINE}{_FROM_NOW}\W*(?:$|[,;])"),
        form(rf"(?P<what>[^,;:]{{3,60}}?) (?:is|are) (?:now|once more|again) {_FINE}\b"),
        form(
            rf"do (?P<what>(?!(?:not|you|we|i|they|{_ONE_THING}))\w+ [^,;:]{{2,60}}?)(?: (?:again|now"
            rf"|after all))*\W*$"
        ),
        form(rf"(?:it's|it is|that's) {_FINE} to (?P<what>[^,;:]{{3,60}}?){_FROM_NOW}\W*$"),
        form(
            rf"(?:you|we)(?:'re| are)? (?:can|may|free to"
            rf"|allowed to)(?: be)? (?P<what>[^,;:]{{3,60}}?){_FROM_NOW}\W*$"
        ),
        form(r"(?:you|we) (?:can|may) (?:now|again) (?P<what>[^,;:]{3,60})"),
    ),
    places=words("to into under"),
    numbers=words("one two three four five six seven eight nine ten twelve fifteen twenty"),
    manners=words(
        "formal formally informal informally casual casually short brief concise long detail verbos"
        " english german french spanish italian dutch portugues japanes chines"
    ),
    placing=words("put store place save"),
    norms=(
        form(
            r"(?!(?:the|this|that|these|those|it|there|he|she|they|we|you|i|what|who|why|how|when|where|"
            r"most|some|his|her|their|other|nothing|something)\b)(?:(?:an?|each|every|our|my|your) )?"
            r"(?:(?!(?:where|what|how|which|that|if|why|who)\b)[\w'-]+ ){1,5}?(?:goes|go|lives?|stays?"
            r"|belongs?|sits?|comes?|carr(?:y|ies)|opens?|begins?|starts?|"
            r"ends?|closes?|gets?|pass(?:es)?|runs?|fits?|remains?|needs?|takes?|keeps?|points?|speaks?|"
            r"reads?|appears?|holds?|names?|touch(?:es)?|loads?|waits?|shows?|tells?|requires?|has|have|"
            r"owns?|use|uses|travels?|are|is) (?!(?:actually|really|probably|wrong|still|again|not|now|been"
            r"|already|missing|gone|"
            r"down|back|late|left|green|red|broken)\b)[\w'-]"
        ),
        form(
            r"(?:when(?:ever)?|once|where(?:ver)?|as soon as|the moment|before|after|if) (?!(?:i|we|he|"
            r"she|they|it|this|that)\b|\w+ed\b)(?:(?!was\b|were\b|had\b|did\b)[\w'-]+ ){0,12}(?!was\b|"
            r"were\b|had\b)[\w'-]+, (?!(?:i|we|it|he|she|they|there|this|my)\b(?! (?:decide|see|want|get)"
            r"))\w|[a-z]+\b.* (?:before|after|whenever|each time|as soon as) you (?!(?:left|went|were|"
            r"had|did|asked|said)\b|\w+ed\b)\w"
        ),
        form(
            r"(?!(?:the|then)\b)[\w '-]{3,40} first, (?:then|and then|[\w '-]{3,40} (?:second|after|afterwards|"
            r"later|next|on request))\b.{0,30}$|(?!(?:the|this|that)\b)(?:an? )?(?:[\w'-]+ ){1,3}(?:before|"
            r"over|in place of|ahead of|rather than|instead of) (?!the\b|this\b|that\b|my\b|we\b|i\b|you\b)"
            r"[\w'-]+(?: [\w'-]+){0,5}(?:, please)?\W*$"
        ),
        form(
            r".*\b(?:(?:first|last|opening|closing|next) (?:line|sentence|word|paragraph|thing) (?:of|"
            r"in) (?:an?|your|each|any)|(?:at|to) the (?:end|top|bottom|beginning|start|head|foot) of "
            r"(?:an?|your|each|any)|(?:your|an?) (?:reply|replies|answers?|messages?|summar(?:y|ies)|reports?|"
            r"explanations?))\b"
        ),
        form(
            r".*\b(?:is|are|remains?|stays?) (?:for (?!the\b|an?\b|now\b|me\b)\w|mine\b|my (?:job|turf|"
            r"business|task|part|domain|call)|yours\b|off[- ]limits|out of bounds|sacred|closed to|(?:some(?:body|"
            r"one)|other people|others)(?: else)?'?s?\b|between (?:you|the two|us))|.*[;,] you \w+.*|.*\byou "
            r"(?:prepare|draft|stage|write|archive)\b"
        ),
        form(
            r"(?:please |kindly )?(?:you (?:can|may) (?:skip|save|leave|spare|omit|drop|just)|(?:you have|"
            r"you've) my|feel free|spare me|skip (?:the )?\w+s\b|save yourself|leave .* (?:out|alone|blank|"
            r"empty|as (?:it|they) (?:is|are)|aside)|hands off|keep .*\b(?:out of|off|away from|free of|"
            r"in)\b|go easy)"
        ),
        form(
            r"i(?:'d| would)? (?:(?:much )?(?:like|love|want|expect|trust|need|sooner|be (?:glad|happy)"
            r"|read|learn|think in|work (?:in|with)|am \w+[\w -]*, so)) (?!(?:the|this|that|it|you were)"
            r"\b).*"
        ),
    ),
)
