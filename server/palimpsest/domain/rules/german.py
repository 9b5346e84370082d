"""German."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.rules.forms import Forms, form, words

_THIS = r"(?:dies\w{1,2}|unser\w{0,2}|de[mr]|das) (?:ganzen |gesamten )?"
_WORK = r"(?:projekt|repo(?:sitory)?|codebasis|code|sitzung|gespr\u00e4ch|unterhaltung|chat|workspace)"
_SCOPE = (
    r"(?:ab (?:jetzt|sofort|heute|nun)|von (?:jetzt|nun) an|k\u00fcnftig|zuk\u00fcnftig|in zukunft|fortan|jedes mal"
    rf"|(?:in|f\u00fcr) {_THIS}{_WORK}\b|im (?:ganzen |gesamten )?(?:projekt|repo(?:sitory)?|code)\b"
    r"|f\u00fcr den rest|standardm\u00e4\u00dfig|unter keinen umst\u00e4nden|auf keinen fall|ausnahmslos|bis auf weiteres)"
)
_RULE_NOUN = (
    r"(?:regel|vorgabe|anweisung|einschr\u00e4nkung|beschr\u00e4nkung|grenze|konvention|richtlinie|entscheidung|limit|vorschrift)"
    r"(?:en|n|s)?"
)
_NEVER = r"(?:nie(?:mals)?|keinesfalls|nirgends)"
_ALWAYS = rf"(?:immer|stets|grunds\u00e4tzlich|ausnahmslos|jedes mal|{_NEVER})"
_VERB = (
    r"(?:verwend|benutz|nutz|nehm|schreib|halt|f\u00fchr|setz|frag|antwort|sprech|r\u00fcck|bevorzug|vermeid|nenn|benenn|formatier"
    r"|erkl\u00e4r|zeig|lass|beschr\u00e4nk|commit|logg|test|dokumentier|pr\u00fcf|anfass|\u00e4nder|l\u00f6sch|push|deploy|mock|nachfrag|mit)"
)
_NAME = (
    r"((?!(?:der|die|das|den|dem|des|es|ihn|sie|ein|eine|einen|einem|diese|dieser|diesen|mein|meine|alles|was|letzte)\b)"
    r"[\w.+#-]+(?: [\w.+#-]+){0,2}?)"
    r"(?=$|[,.:;!](?:\s|$)| (?:und|zugunsten|f\u00fcr|als|auf|zu|durch|nicht|raus|fallen|jetzt|mehr|haben|zum|zur|in|auch)\b)"
)

GERMAN: Final = Forms(
    name="German",
    markers=words(
        "der die das den dem des und oder ist sind war nicht kein keine keinen ein eine einen einem einer wir ich du ihr"
        " mir mich dir uns es im am zu zum zur auf aus bei mit von f\u00fcr \u00fcber unter nach vor wenn dass weil"
        " immer nie niemals stets bitte nur auch noch doch jetzt ab statt anstatt anstelle muss musst m\u00fcssen soll"
        " sollst sollen darf darfst d\u00fcrfen jede jeder jedes jeden alle allen lass nehmen mehr wieder lieber"
        " werden wird haben hat sich sie bleiben wo bevor stattdessen kann kannst"
    ),
    letters=frozenset("\u00e4\u00f6\u00df"),
    lead_in=form(
        r"(?:(?:ach|und|aber|also|so|dann|na|nun|ok(?:ay)?|ja|nein(?=[,.!;:])|gut|danke|\u00fcbrigens|apropos|noch etwas|noch was"
        r"|nebenbei|(?:bitte )?(?:denk|denke|denkt) (?:bitte )?(?:daran|dran)|(?:bitte )?beachte?|hinweis|wichtig|zur erinnerung"
        r"|bitte|mal|eigentlich|kommando zur\u00fcck|plan\u00e4nderung|nach reiflicher \u00fcberlegung"
        r"|ich habe? (?:es mir anders \u00fcberlegt|meine meinung ge\u00e4ndert)|doch(?= lieber| nicht)|lieber|generell"
        r"|es ist wichtig,? dass)\b(?![\w'-])[\s,.:;!\u2013\u2014-]*)+"
    ),
    scope=form(rf"\b{_SCOPE}\b"),
    opening_scope=form(rf"{_SCOPE}[,:]?\s+(?:gilt )?"),
    scope_alone=form(rf"{_SCOPE}[.:!]?"),
    clause=form(r"[,;:\u2013\u2014]\s+|\(|\s--?\s|\s(?=(?:und|aber) (?:bitte )?(?:nie|niemals|immer|nicht|kein\w*)\b)"),
    aside=form(r"\s(?:(?:--?|[\u2013\u2014]|weil|da|damit)\s|\()"),
    always=form(rf"{_ALWAYS}\s+(?!mehr\b|wieder\b|gut\b)[\w`]"),
    always_we=form(
        rf"^(?:{_VERB}\w{{0,3}}|nimm|gib|sprich|fass|fang|stell|leg|mach|schick) (?:[\w.'`/-]+ ){{0,6}}?{_ALWAYS}\b"
        rf"|\b(?:muss|m\u00fcssen|darf|d\u00fcrfen|soll|sollst|sollen|sollte|sollten) (?:[\w.'`/-]+ ){{0,6}}?{_ALWAYS}\b"
        rf"|^(?:(?!(?:der|die|das|es|ich|er|sie|dies\w*|mein\w*|da)\b)[\w-]+ ){{1,2}}(?:werden|liegen|geh\u00f6ren|sind|stehen|kommen|bleiben) "
        rf"(?:[\w-]+ ){{0,3}}?{_ALWAYS}\b|^(?:(?!(?:der|die|das|es|ich|er|sie|dies\w*|mein\w*|da)\b)[\w.-]+ ){{1,3}}{_ALWAYS} (?:[\w.`/-]+ ){{0,6}}?\w+en\W*$"
        rf"|^(?:wir|du|bitte) (?:[\w-]+ ){{0,4}}?{_ALWAYS}\b(?! bekommen| gehabt)"
        rf"|^vor (?:jede[mr]|allen) \w+"
    ),
    tale=form(
        r"\b(?:hat|habe|haben|hatte|hatten|war|waren|bekam|bekamen|bekommen|gestern|letzte[snr]?|fr\u00fcher|wurde[n]?|konnte|damals)\b"
        r"(?!.*\b(?:entschieden|geeinigt|beschlossen|umgestiegen|gewechselt|migriert|aufgegeben|gew\u00e4hlt)\b)"
    ),
    forbid=form(
        r"(?:verwend\w*|benutz\w*|nutz\w*|nimm|schreib\w*|mock\w*|commit\w*|push\w*|l\u00f6sch\w*|\u00e4nder\w*|fass|r\u00fchr|logg?\w*|deploy\w*"
        r"|f\u00fcg\w*|formatier\w*|fang|mach|setz\w*|bearbeit\w*|entfern\w*|installier\w*|erstell\w*) (?:[\w.'`/-]+ ){0,5}?"
        r"(?:nicht|nichts|kein\w*)\b(?! mehr\b| sorgen\b)"
        r"|(?:kein|keine|keinen|keinerlei|nichts) (?!problem|ahnung|fehler|sorge|idee|lust|zeit|frage|wunder|sinn|von|davon|ist|geht)\w"
        r"[\w .'`/-]{0,80}(?:\w+en)?\W*$|h\u00f6r auf,? |ohne (?:meine|unsere) \w+ (?:wird|werden|geht|darf|kein\w*)\b"
    ),
    forbid_we=form(
        r"\b(?:darf|d\u00fcrfen|darfst) (?!ich\b)(?:[\w.'`/-]+ ){0,6}?(?:nicht|nie|niemals|kein\w*|nichts)\b(?! mehr\b)"
        r"|\b(?:ist|sind) (?:tabu|verboten|untersagt|nicht erlaubt)\b|\bich (?:will|m\u00f6chte) (?:[\w-]+ ){0,3}?kein\w*\b"
        r"|\b[\w.-]+en nicht (?:\w+ )?(?:anfassen|\u00e4ndern|bearbeiten|l\u00f6schen|verwenden|benutzen|committen)\b"
        r"|\bd\u00fcrfen (?:[\w-]+ ){1,4}nicht \w"
    ),
    no_kind=form(r"kein\w{0,2} (?!problem|ahnung|fehler|sorge|idee|lust|zeit|frage|wunder|sinn)[\w.-]+(?!.*\b(?:gefunden|mehr|ist|sind|war)\b).*"),
    abandoned=form(
        r"(?:wir|ich) (?:[\w.-]+ ){1,6}?nicht mehr\b|(?:wir|ich) (?:\w+ )?(?:kein\w*|nie) [\w.-]+ mehr\b"
    ),
    negative=form(r"\b(?:nie|niemals|keinesfalls|auf keinen fall|vermeide\w*|tabu|verboten)\b"),
    condition=form(r"(?:wenn|falls|sobald|bevor|nachdem|immer wenn|jedes mal,? wenn) (?:du|wir|ich|man|ein\w*|jede\w*)\b"),
    order_after_condition=form(r"(?:dann )?(?:muss|musst|soll|sollst)\b"),
    kind=form(
        r"\b(?:immer|stets|jede[rsnm]?|alle[nr]?|nur|ausschlie\u00dflich|statt|anstatt|anstelle|h\u00f6chstens|mindestens|maximal"
        r"|\u00fcberall|grunds\u00e4tzlich|m\u00f6glichst|wenn m\u00f6glich|niemals|nie|unter \d+|bevor du|wann immer|wo immer)\b"
    ),
    weak_kind=form(r"\b(?:kein\w*|nicht|ohne)\b"),
    each=form(r"\b(?:jede[rsnm]?|bevor du|bevor etwas|nach jede\w|vor jede\w|wenn du)\b"),
    owed=form(r"\b(?:muss|m\u00fcssen|soll|sollen|brauch(?:t|en)|hat|haben)\b"),
    owed_kind=form(
        r"(?:alle|jede[rs]?|neue[rn]?|s\u00e4mtliche) (?!der\b)|(?:(?!(?:der|die|das|den|diese\w?|meine?|unsere?|es|ich|er|sie|was|da)\b)[\w-]+ ){0,2}?"
        r"[\w-]+(?:en|s|e|er) (?:m\u00fcssen|sollen|brauchen)\b"
    ),
    owed_bare=form(r"(?:muss|darf nicht|soll) (?!ein\b|das\b|es\b|ich\b|man\b|wohl\b)(?:nicht |immer |auch )?\w+ \w"),
    decided=form(
        r"wir (?:halten uns an\b|haben uns (?:[\w.-]+ ){0,4}?(?:f\u00fcr|auf)\b.*(?:entschieden|geeinigt|verst\u00e4ndigt)|haben (?:[\w.-]+ ){1,6}?(?:gew\u00e4hlt|beschlossen)"
        r"|(?:nehmen|setzen auf|bleiben bei|unterst\u00fctzen|benutzen|verwenden|nutzen|schreiben|speichern|behalten|zielen auf"
        r"|arbeiten mit|setzen (?:\w+ ){0,3}auf)\b(?! (?:das|es|den|die|dies\w*)\b)"
        r"|sind (?:[\w.-]+ ){0,2}?von \S+ (?:auf|zu)\b|sind jetzt (?:auf|bei)\b|(?:werfen|schmei\u00dfen|wechseln|steigen) \w)"
        r"|lass uns (?:[\w-]+ ){0,6}?(?:nehmen|verwenden|benutzen|nutzen|bleiben|wechseln|umsteigen|setzen|ersetzen)\b"
        r"|(?:nehmen|bleiben|verwenden|benutzen|nutzen) wir (?!das\b|es\b|den\b|die\b)"
        r"|ich (?:bevorzuge|will|m\u00f6chte) (?:kein\w*|nur|immer|jede\w*|alle|\w+ gegen\u00fcber|\w+ statt)\b|bei uns (?:ist|sind|gilt|gelten)\b"
    ),
    standing=form(
        r"(?:unsere?|die) (?:[\w-]+ ){0,2}(?:konvention|regel|richtlinie|vorgabe|policy)(?: ist|:| lautet)|maximale? [\w-]+(?: ist|:)? ?\d+"
        r"|[\w-]+(?: [\w-]+){0,3},? (?:bitte )?(?:nur |ausschlie\u00dflich )(?:auf|in|mit|als) [\w-]+\W*$"
        r"|(?:jede[rs]?|alle) (?:[\w-]+ ){1,3}(?:braucht|brauchen|bekommt|bekommen|hat|haben|enth\u00e4lt|geh\u00f6rt|geh\u00f6ren)\b"
        r"|(?:(?!(?:der|die|das|es|ich|er|sie|dies\w*)\b)[\w-]+ ){1,2}(?:geh\u00f6ren|liegen) (?:immer )?(?:in|neben|unter|nach)\b"
        r"|in (?:diesem|unserem) \w+ (?:gilt|gelten|darf|d\u00fcrfen|verwenden wir|benutzen wir)\b|(?:gilt|gelten) [\w-]+ f\u00fcr\b"
        r"|(?!(?:der|die|das|mach|mache|starte|lass|f\u00fchr)\b)[\w.+#-]+(?: [\w.+#-]+){0,5} (?:statt|anstatt|anstelle von) (?!zu\b|darauf\b|zu warten)[\w.+#-]+(?: [\w.+#-]+){0,2}\W*$"
        r"|[\w.+#-]+(?: [\w.+#-]+){0,3} (?:bitte, )?(?:bitte )?(?:auf|in) (?-i:[A-Z\u00c4\u00d6\u00dc])\w+\W*$|(?:doppelte|einfache|metrische|imperiale) \w+"
        r"|[\w.+#-]+(?: (?:als|zum|f\u00fcr|zur) [\w.+#-]+){1,2},? nicht [\w.+#-]+\W*$|(?:leerzeichen|tabs|[\w.+#-]+) (?:zum|f\u00fcr|als) \w+\W*$"
        r"|[\w.+#-]+ bitte, kein\w* [\w.+#-]+\W*$|\w+e \w+,? bitte\W*$|ersetzt [\w.+#-]+ [\w.+#-]+"
        r"|[\w-]+e [\w-]+n? (?:nicht|nie) \w+en\W*$"
    ),
    habits=words(
        "verwende verwendet benutze benutzt nutze nutzt nimm nehmt schreib schreibe schreibt halte halt haltet f\u00fchr f\u00fchre setz"
        " setze stell stelle frag frage antworte antwort sprich r\u00fccke r\u00fcck bevorzuge vermeide nenn nenne benenne formatiere"
        " erkl\u00e4r erkl\u00e4re zeig zeige f\u00fcge f\u00fcg gib bleib bleibe begrenze beschr\u00e4nke logge dokumentiere lass lege leg"
        " behandle kennzeichne beginne beende fasse sag sage rebase squashe merge committe"
    ),
    styles=words(
        "verwende verwendet benutze benutzt nutze nutzt nimm nehmt schreib schreibe antworte antwort sprich r\u00fccke r\u00fcck bevorzuge"
        " vermeide benenne nenne bleib bleibe beschr\u00e4nke begrenze"
    ),
    actions=words(
        "teste pr\u00fcfe pr\u00fcf l\u00f6sche l\u00f6sch erstelle erstell f\u00fcge starte push pushe aktualisiere lies lasse warte warne melde schick schicke"
    ),
    asked=form(
        r"(?:kann|kannst|k\u00f6nnte|k\u00f6nntest|k\u00f6nnten|sollen|sollten|soll|sollte|w\u00fcrde|w\u00fcrdest|willst|hast|habt|ist|sind|hat|warum|wieso|wie|was|welche\w?"
        r"|wer|wo|wann|weshalb|darf|muss|gibt) (?:du|wir|ich|es|das|man|der|die|h\u00e4ltst|meinst|w\u00e4re)\b"
    ),
    told=form(
        r"(?:vielleicht|eventuell|angenommen|nehmen wir an|stell dir vor|was w\u00e4re|laut|gestern|letzte[snr]?|manche|einige|jemand|leute|schauen wir"
        r"|mal sehen|egal|ich (?:glaube|denke|vermute|w\u00fcrde|habe|hatte|sehe|frage|wei\u00df)(?! es mir anders)"
        r"|(?:er|sie|mein\w*|der|die|das|unser\w*|ein\w*) (?:[\w-]+ )?(?:sagte|sagt|meinte|meint|sagen|beschwert|behauptet|schrieb|fragte|wollte|will|hat)\b"
        r"|in der (?:readme|doku|dokumentation|anleitung) (?:steht|hei\u00dft)|das muss ein|in meinem letzten)"
    ),
    told_within=form(
        r"\b(?:w\u00fcrde|w\u00fcrden|h\u00e4tten|h\u00e4tte|irgendwann|was (?:meinst|denkst) du|sagen|aber das ist unsinn|muss \w+ (?:[\w-]+ ){0,8}\w+ sein$)\b|\bmuss (?:[\w-]+ ){1,10}(?:sein|haben)\W*$(?<!kompatibel sein.)"
    ),
    task=form(
        r"(?:schreib|schreibe|implementiere|behebe|erstelle|erstell|baue|bau|f\u00fcg|f\u00fcge|mach|mache|entwickle|korrigiere|\u00e4ndere|benenne|l\u00f6sche"
        r"|entferne|ersetze|verschiebe|repariere|zeig|zeige|\u00fcbersetze) (?:mir |bitte |hier )?(?:de[nmr]|die|das|ein\w{0,2}|eine\w?|diese\w?|\w+ eine|`)\b"
    ),
    relative=form(r",? \b(?:der|die|das|dass|damit|so ?dass|welche[rs]?|wo)\b(?= .*\b(?:darf|muss|m\u00fcssen|soll|d\u00fcrfen|immer|nie|niemals)\b)"),
    one_thing=form(
        r"(?:es|das|dies|(?:der|die|das|diese[rs]?) (?:funktion|methode|test|skript|parser|klasse|befehl|knopf|abfrage|ergebnis|ausgabe|datei|seite"
        r"|liste|schleife|variable|wert|feld|kopfzeile)) "
    ),
    once=form(
        r"\b(?:vorerst|erst ?mal|f\u00fcrs erste|gerade|diesmal|heute|momentan|im moment|zun\u00e4chst|noch nicht)\b"
        r"|\b(?:f\u00fcr|bei|in) (?:diese[nmrs]?) (?:einen |einzelnen )?(?:test|commit|beispiel|lauf|fall|branch|datei|funktion|schritt|aufgabe|ticket)\b"
    ),
    pointed=form(r"^\W*(?:[\w']+\s+){1,2}(?:es|das|dies|diese[sn]?|ihn|ihm)\b(?=\W*$|[ ,](?!\w+ nicht))"),
    specific=form(r"\b(?:de[rnms]|die|das|diese[rnms]?|ein(?!\W*$)|eine[nmrs]?|mein\w*|es|ihn|sie)\b"),
    determined=form(r"\w+ (?:de[nm]|die|das|diese\w?|eine?\w?|mein\w*)\b"),
    purpose=form(r"\s(?:f\u00fcr|als|beim?|zum|zur|im|in|nach|auf|an)\s"),
    change=form(
        r"\b(?:doch|stattdessen|statt|anstatt|anstelle|lieber|plan\u00e4nderung|anders \u00fcberlegt|kommando zur\u00fcck|nicht mehr|kein\w* \w+ mehr|ab (?:jetzt|sofort)"
        r"|umgestiegen|wechseln|gewechselt|migriert|ersetz\w*|wieder|jetzt|nun|geschichte|\u00fcberlegung)\b"
    ),
    withdrawn=form(
        rf"(?:du kannst )?(?:vergiss|vergesst|ignorier\w*|streich\w*|l\u00f6sch\w*|verwirf|hebe?|nimm|nehmen)\b(?=.*(?:\b{_RULE_NOUN}\b|\bwas ich\b))"
        rf"|(?:die|das|diese|der) (?:[\w-]+ ){{0,6}}?{_RULE_NOUN}\b(?=.*\b(?:aufgehoben|zur\u00fcck|nicht mehr|hinf\u00e4llig|vergessen|weg)\b)"
        r"|das mit .{3,60} (?:kannst|k\u00f6nnt|kann) (?:du |ihr |man )?vergessen"
        r"|.{2,80}\b(?:brauch\w*|muss|musst|m\u00fcssen|m\u00fcsst)\b(?=.*\b(?:nicht mehr|nicht l\u00e4nger|kein\w* (?:[\w-]+ )?mehr)\b)"
        r"|(?:brauch\w*|musst|m\u00fcsst)\b(?=.*\bnicht mehr\b)|.{2,60}\b(?:ist|sind|werden|wird) (?:nicht mehr|nicht l\u00e4nger) (?:n\u00f6tig|notwendig|gebraucht|erforderlich|ben\u00f6tigt)"
        r"|h\u00f6r(?:t)? (?:bitte )?auf\b"
    ),
    unnamed=form(r"(?:vergiss|streich|ignorier) (?:das|es)\b|kommando zur\u00fcck\b|ich habe? es mir anders \u00fcberlegt\b|plan\u00e4nderung\b"),
    dropped=(
        form(rf"(?:doch )?(?:nicht|weg mit|vergiss|schmei\u00df|wirf|streich|verwirf) {_NAME}"),
        form(rf"(?:wir )?(?:werfen|schmei\u00dfen|lassen|verwerfen|streichen) {_NAME}"),
        form(r"([\w.+#-]+(?: [\w.+#-]+)?) (?:ist|sind) (?:vom tisch|geschichte|raus|gestorben|passe|keine option mehr)\b"),
        form(r"([\w.+#-]+(?: [\w.+#-]+)?) (?:lassen wir (?:fallen|weg)|haben wir (?:[\w-]+ ){0,4}(?:aufgegeben|verworfen)|werfen wir|fliegt raus)"),
        form(r"wir (?:verwenden|benutzen|nutzen|nehmen) ([\w.+#-]+(?: [\w.+#-]+)?) (?:nun |jetzt )?(?:doch )?nicht\b"),
        form(r"wir (?:verwenden|benutzen|nutzen|nehmen) (?:nun |jetzt )?kein\w* ([\w.+#-]+) mehr"),
        form(r"lass uns ([\w.+#-]+) (?:durch|gegen) "),
        form(r"(?:wir (?:sind|wechseln|steigen|migrieren)|stell\w*|wechsle|migriere|lass uns) (?:(?:die|den|das|jetzt) )?(?:[\w-]+ ){0,2}?von ([\w.+#-]+) (?:auf|zu|nach)\b"),
        form(r"(?:[\w.+#-]+ )?ersetzt (?:[a-z]\w+ (?=[a-z]+ ))?([\w.+#-]+)"),
        form(r"nehmen wir (?:doch )?(?:nicht )([\w.+#-]+)"),
    ),
    permitted=form(
        r"(?:du|ihr|wir) (?:darfst|d\u00fcrft|d\u00fcrfen|kannst|k\u00f6nnt|k\u00f6nnen)\b(?=.*\b(?:jetzt|nun|wieder|doch|ab sofort)\b)"
        r"|.{2,60}(?:darfst|d\u00fcrft|d\u00fcrfen|kannst) (?:du|ihr|wir) (?:jetzt|nun|wieder|doch|ab sofort)\b"
        r"|.{2,60}\b(?:ist|sind) (?:jetzt|nun|wieder|doch|ab sofort) (?:wieder )?(?:erlaubt|in ordnung|okay|ok|gestattet|m\u00f6glich)"
    ),
    about=form(
        rf"\b(?:mit de[nmr]|gegen|f\u00fcr|\u00fcber)\b|\b{_RULE_NOUN}\b|\b(?:aufgehoben|hinf\u00e4llig|zur\u00fcck|gesagt|erlaubt|ordnung|n\u00f6tig|notwendig|gebraucht|erforderlich|vergessen|vergiss|gilt"
        r"|ignorier\w*|laufen|\w*lassen|brauch\w*|muss\w*|m\u00fcssen|h\u00f6r)\b"
    ),
    rule_noun=form(rf"\b{_RULE_NOUN}\b"),
    rejected=(
        form(r"\b(?:statt|anstatt|anstelle von|gegen\u00fcber)\s+((?:(?!(?:f\u00fcr|zu|als|bitte|in|zum|nehmen|verwenden|wir)\b)[\w.+#-]+\s*){1,2})(?!zu \w)"),
        form(r"\b(?:nicht|kein\w*|und nicht)\s+([\w.+#-]+)(?=\s*[.!]?$|,)"),
    ),
    chosen=(form(r"(?:f\u00fcr|zum) (?P<purpose>(?:[\w-]+ ){1,3})(?:auf|zu) (?P<what>[\w.+#-]+) (?:wechseln|umsteigen)"), form(
        r"(?:\b(?:verwende\w?|benutze?\w?|nutze?\w?|nimm|nehmen(?: wir)?|setzen (?:wir )?auf|bleiben (?:wir )?bei|bevorzuge|auf|f\u00fcr(?= (?-i:[A-Z])))) (?!diese|den|die|das)"
        r"(?P<what>(?!(?:den|die|das|ein\w*|wir|doch|lieber|stattdessen)\b)[\w.+#-]+(?: (?!f\u00fcr|als|zum|zur|beim)[\w.+#-]+)?)"
        r"(?: (?:f\u00fcr|als|zum|zur|beim) (?P<purpose>(?:[\w-]+ ?){1,4}))?"
    )),
    scopes=words("cod projekt repo datei sitzung all funktion klass test"),
    rivals=tuple(
        words(group)
        for group in (
            "tab leerzeich",
            "metrisch imperial",
            "einfach doppelt",
            "camelcas snake_cas kebab-cas pascalcas",
            "npm yarn pnpm bun",
            "pip poetry uv conda",
            "pytest unittest nos",
            "merg rebas squash",
            "englisch deutsch franz\u00f6sisch spanisch italienisch chinesisch",
            "f\u00f6rmlich informell",
        )
    ),
    topics=words("einr\u00fcck einheit anf\u00fchrungszeich nam paket sprach antwort formatier"),
    stop=words(
        "der die das den dem des und oder ist sind war nicht kein keine keinen keinem ein eine einen einem einer eines wir ich du ihr"
        " mir mich dir dich uns es im am an zu zum zur auf aus bei beim mit von f\u00fcr \u00fcber unter nach vor wenn dass weil immer nie"
        " niemals stets bitte nur auch noch doch jetzt nun ab sofort statt anstatt anstelle muss musst m\u00fcssen soll sollst sollen"
        " darf darfst d\u00fcrfen kann kannst jede jeder jedes jeden jedem alle allen lass lassen mehr wieder lieber werden wird haben"
        " hat sich sie bevor stattdessen verwende verwenden verwendet benutze benutzen benutzt nutze nutzen nutzt nimm nehmen nehmt"
        " so da als in um was wie wo l\u00e4nger h\u00f6chstens mindestens maximal grunds\u00e4tzlich uns unser unsere okay gut"
        " ganz sehr dies diese dieser dieses diesem diesen projekt repository in zukunft bleiben bleib bei brauchst brauchen braucht"
        " habe gesagt mal ja halt einfach sinnvoll immer m\u00f6glich entschieden entscheidung gegen\u00fcber bevorzuge setzen umgestiegen"
    ),
    doubling=frozenset(),
    suffixes=("ungen", "ung", "ieren", "iert", "est", "ene", "enen", "ens", "en", "er", "em", "es", "te", "et", "st", "t", "e", "s", "n"),
    participle=form(r"ge(?!b|n|s?ch|w|d|h)(\w{4,})t"),
)
