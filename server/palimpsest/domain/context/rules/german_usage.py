"""German: habits, single steps, permission and giving up, by classes of words."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.context.rules.forms import Usage, form, words

_NAME = (
    r"(?P<what>(?!(?:der|die|das|den|dem|des|es|ihn|sie|wir|ich|du|ein\w{0,2}|dies\w*|mein\w*|alles|was|da|hier)\b)"
    r"[\w.+#/-]+(?: [\w.+#/-]+){0,2}?)"
)
_THE = r"(?:(?:das mit )?(?:der|die|das|den|dem) )?"
_FROM_NOW = r"(?:jetzt|nun|wieder|doch|ab (?:jetzt|sofort|heute|nun)|künftig|in zukunft|inzwischen)"
_FINE = r"(?:erlaubt|in ordnung|okay|ok|gestattet|möglich|willkommen|gut|fein|zulässig|kein problem)"
_MAY = r"(?:darfst|dürft|dürfen|darf|kannst|könnt|können|kann)"
_OUT = (
    r"(?:raus(?:werfen|schmeißen|nehmen|geworfen|geschmissen)|weg(?:werfen|lassen|fallen)?|loswerden|streichen|aufgeben"
    r"|abschaffen|fallen lassen|bleiben|sein lassen|lassen|vergessen|entfernen|ersetzen)"
)
_ORDER = (
    r"(?:verwende|benutze|nutze|nimm|schreib|schreibe|halte?|setze?|lege?|pack|packe|benenne|nenn|nenne|speichere?"
    r"|logge"
    r"|dokumentiere?|prüfe?|teste|zeige?|liste|füge?|kommentiere?|erkläre?|formatiere?|sortiere?|markiere?|behandle)"
)

USAGE: Final = Usage(
    request=form(
        r"(?:kannst|könntest|würdest|magst) du (?:bitte |mal )?(?=(?:[\w-]+ ){0,4}(?:immer|nie|stets|ab (?:jetzt"
        r"|sofort)"
        r"|künftig|in zukunft) (?:[\w-]+ ){0,6}\w+en\b|aufhören)"
    ),
    plea=form(
        r"(?:(?:bedenke?|beachte?|merk dir|vergiss nicht|denk dran|denk daran)(?: bitte)?(?:, dass)?"
        r"|(?:eine |neue |meine |kleine )*(?:regel|bitte|wunsch|vorgabe|konvention|abmachung)(?: (?:für"
        r"|an) [\w ]{1,20})?\s*:"
        r"|(?:es )?(?:wäre|ist) (?:gut|schön|super|toll|nett|besser|wichtig|hilfreich), wenn du"
        r"|egal,? was (?:du tust|passiert|ist)|(?:fürs|beim) nächste[ns]? mal(?: und immer)?[:,]|einfach"
        r"|versuch(?:e)?,)"
        r"(?![\w'])[\s,:;\u2013\u2014-]*"
    ),
    assent=form(r"(?:ja|jo|jep|genau|richtig|klar)\b[\s,.!]"),
    past=form(
        r"\b(?:damals|früher|seinerzeit|letzte[ns]? (?:jahr|monat|woche|mal)|im letzten job|gestern|vorhin)\b"
        r"|\b(?:du|ihr|er|sie) (?:hast|habt|hat|haben) (?:[\w-]+ ){0,5}(?:nie|immer|niemals) (?:[\w-]+ ){0,3}\w+(?:t"
        r"|en)\W*$"
        r"|\b(?:würde|hätte)n? (?:ich|wir) (?:[\w-]+ ){0,3}(?:nie|immer)\b|\b(?:ich|wir) (?:würde"
        r"|hätte)n? (?:[\w-]+ ){0,4}"
        r"(?:nie|immer)\b"
    ),
    momentary=form(
        r"\bbevor (?:wir|du|ich) (?:[\w-]+ ){0,3}(?:anfang|beginn|start|loslegst|loslegen|weitermach|fortfahr)\w*"
        r"|\bnoch nichts\b|\b(?:nur )?dieses eine mal\b|\bjetzt nicht\b|\bnicht jetzt\b"
        r"|^(?:lass uns|nehmen wir|nimm) hier\b|^lass uns (?:\w+ ){0,2}ein\w{0,2} \w"
    ),
    made=form(
        r"gib (?:mir )?(?:bitte )?(?:de[nr]|die|das) [\w ]{2,40}(?:jede[rs]|aller) [\w-]+ aus\b|(?:füg|bau|schreib"
        r"|erstell|leg|mach|änder|implementier)e? [\w`. -]{2,60}(?: (?:ein|an|hinzu))?"
        r"(?:: |,? (?:der|die|das) (?:prüft|testet|sicherstellt|checkt)|, so ?dass |, damit )"
    ),
    habitual=form(
        r"(?:alle|sämtliche|jede[rs]?) (?!der\b|die\b|das\b)[\w-]+(?: [\w-]+)? (?:in|als|per|über|mit|unter"
        r"|im) [\w. -]{2,30}\W*$"
        r"|(?:pro|je) [\w-]+ (?:nur |höchstens |maximal |genau )?(?:ein\w{0,2}|zwei|drei|\d+) [\w-]+(?:,? bitte)?\W*$"
        r"|(?:nur |höchstens |maximal |genau )?(?:ein\w{0,2}|zwei|drei|\d+) [\w-]+ (?:pro|je) [\w-]+(?:,? bitte)?\W*$"
        r"|(?!(?:der|die|das|ein\w*)\b)[\w-]+ von (?:höchstens |mindestens )?\d+ [\w-]+\W*$"
        r"|ich erwarte (?:zu |für |bei |von )?(?:jede[rnms]?|alle[nr]?|kein\w*|immer|dass) "
        r"|(?:die |unsere |alle )?(?:[\w-]+ ){0,2}[\w-]+(?:en|er|s|e|n|ts|ups)? (?:müssen|sollten|sollen|haben)"
        r" (?!wir\b|sie\b|ich\b|es\b|irgend|jetzt\b)(?:[\w.`/-]+ ){0,6}(?:sein|bleiben|haben|werden|stehen|beginnen"
        r"|anfangen"
        r"|enthalten|liegen|laufen)\W*$"
        r"|für [\w -]{2,40} (?:ist|sind) [\w -]{2,40} (?:pflicht|vorgeschrieben|vorgabe|zwingend|verbindlich)\b"
        r"|[\w -]{2,40} (?:ist|sind) (?:bei uns |hier )?(?:pflicht|vorgeschrieben|zwingend|verbindlich)\W*$"
        rf"|{_ORDER} (?!(?:die|den|das|der|dem|es|sie|ihn|mir|mich|dies\w*|ein\w{{0,2}})\b)[\w-]+ (?:immer "
        rf"|möglichst |so )?"
        r"(?:klein|kurz|einfach|schlank|sauber|knapp|rein|getrennt|privat|simpel|minimal|lesbar|klein wie möglich"
        r"|zuerst)\W*$"
        rf"|(?:kommentiere?|dokumentiere?|teste|annotiere?|{_ORDER}) (?:immer |stets )?(?:jede[ns]?"
        rf"|alle) [\w-]+(?: [\w-]+)?\W*$"
        rf"|{_ORDER} (?:immer|stets|grundsätzlich|nie|niemals) "
        r"|[\w-]+(?: [\w-]+){0,3} (?:bitte )?(?:vermeiden|zuerst schreiben|einhalten|bevorzugen|weglassen)\W*$"
        r"|nur [\w-]+e [\w-]+ (?:verwenden|benutzen|nutzen|nehmen|schreiben|importieren|committen)\W*$"
        r"|(?:verwende|benutze|nutze|nimm) für (?!(?:de|die|das|dies|mein|ein)\w*\b)[\w-]+ (?:einfach "
        r"|immer )?(?:de[nr]|die|das)"
        r" [\w -]{2,30}`?[\w-]+`?\W*$"
        r"|(?:verwende|benutze|nutze|nimm) (?:die|das|den) (?:v?\d[\w.]*|[\w.]*\d)[ -](?:api|version|sdk|format"
        r"|protokoll)\W*$"
        r"|(?!(?:die|das|der|wir|sie|diese)\b)[\w-]+(?:en|s|er|e) (?:kommen|gehören|liegen|landen"
        r"|gehen) (?:immer )?(?:nach|in|unter"
        r"|neben|zu) [\w./` -]{2,30}\W*$"
        r"|wir (?:brauchen|verlangen|fordern|erwarten|arbeiten) (?:immer |grundsätzlich |mit )?(?:zwei|drei|\d+"
        r"|kein\w*|jede[rsn]?"
        r"|(?-i:[A-Z])[\w-]+es)\b"
        r"|brauchen wir (?:immer )?(?:zwei|drei|\d+) "
        r"|ich bevorzuge (?!(?:das|es|den|die|diese\w?|ein\w*)\b)\w"
        r"|(?:auch |immer )?ein\w? [\w-]+ (?:in|zu|für) jede[rsnm]? [\w-]+\W*$"
        r"|du immer [\w -]{3,60}\W*$"
        r"|du [\w -]{3,60} nicht [\w -]{0,40}sollst\W*$"
        r"|(?:deploye?|baue?|teste) (?:mit|per|über) \w"
    ),
    barred=form(
        r"(?:du|ihr|wir|man) soll\w{0,3} (?:[\w.`/-]+ ){1,8}?(?:nicht|nie|niemals) \w|"
        r"(?:ändere?|schreib|fass|lösch|änder|rühr|push|überschreib)e? [\w /`.-]{3,60} (?:nicht (?:um|an|neu)"
        r"|nie\w*(?: um| an)?)\W*$"
        r"|[\w -]{3,40} (?:darfst|dürft|dürfen) (?:du|ihr|wir|man) (?:hier |bei uns )?(?:nicht|nie) \w"
        r"|ich (?:hasse|verabscheue|mag kein\w*|mag keine) (?!(?:das|es|den|die|diese\w?)\b)\w"
    ),
    ended=(
        form(
            rf"(?:vergiss|vergesst|schmeiß|wirf|streich|kick|weg mit)(?: bitte)? {_THE}{_NAME}(?=\W*$|[,.;:!]"
            rf"| (?:raus|weg|wieder)\b)"
        ),
        form(rf"von {_NAME} (?:sind|gehen|wechseln|steigen|ziehen) wir\b"),
        form(
            rf"{_THE}{_NAME} (?:können wir|kannst du|könnt ihr|wollen wir|lassen wir|werfen wir|schmeißen wir"
            rf"|nehmen wir|haben wir"
            rf"|fliegt|kommt|kommen|fliegen|ist|sind|fällt|fallen)(?: [\w-]+){{0,4}}? {_OUT}(?=\W*$|[,.;:!])"
        ),
        form(rf"{_THE}{_NAME} (?:lassen wir|lasse ich)(?=\W*$|[,.;:!])"),
        form(
            rf"{_THE}{_NAME} (?:nutz\w*|benutz\w*|verwend\w*|nehm\w*|brauch\w*|will|wollen|möchte\w*|mach\w*"
            rf"|haben) (?:wir|ich)"
            rf"(?: [\w-]+){{0,4}}? (?:nicht mehr|doch nicht)\b"
        ),
        form(rf"{_THE}{_NAME} (?:will|wollen|möchte) (?:ich|wir) (?:doch )?nicht\b"),
        form(
            rf"{_THE}{_NAME} (?:wird|werden) (?:hier |bei uns )?(?:nicht mehr|nicht länger) (?:benutzt|verwendet"
            rf"|genutzt|gebraucht)"
        ),
        form(
            rf"{_THE}{_NAME} (?:ist|sind) (?:(?:hier|uns|mir|einfach|doch) )*(?:zu \w+"
            rf"|overkill)\s*[,;.]\s*(?:\w+ )?(?:nimm|nehm\w+"
            r"|lass|wir|dann|lieber)\b"
        ),
        form(
            rf"(?:lass uns|wir wollen|wir werden) (?:{_THE}){_NAME} (?:raus\w*|weg\w*|loswerden|abschaffen|streichen"
            rf"|aufgeben)"
        ),
        form(rf"wir (?:ersetzen|tauschen|tauschten|ersetzten) {_THE}{_NAME} (?:durch|gegen|mit)\b"),
        form(rf"(?:ab (?:jetzt|sofort) )?(?:doch )?lieber [\w.+#-]+ als {_NAME}\W*$"),
        form(r"(?:kein\w*|nicht) (?P<what>[\w.+#-]+), (?:sondern )?[\w.+#-]+(?: [\w.+#-]+)?\W*$"),
    ),
    unneeded=(
        form(rf"(?:bei|mit) (?:der |dem |den )?{_NAME} lag ich (?:falsch|daneben)"),
        form(
            rf"(?:bei|wegen|mit|zu) (?:der |dem |den )?{_NAME} (?:hab\w*|habe) ich (?:meine meinung geändert"
            rf"|mich (?:geirrt|vertan)"
            r"|es mir (?:noch mal )?anders überlegt)"
        ),
        form(
            r"(?P<what>[^,;:]{3,80}?) (?:brauch\w*|musst|müssen|müsst|muss) (?:du|wir|ihr|ich|man) (?:[\w-]+ ){0,3}?"
            r"(?:nicht mehr|nicht länger|nimmer)(?! [\w-]+,)\W*$"
        ),
        form(
            r"(?P<what>[^,;]{3,80}?,? (?:brauch\w*|musst|müssen|müsst|muss) (?:du|wir|ihr|ich|man) (?:[\w-]+ ){0,3}?"
            r"(?:nicht mehr|nicht länger|nimmer)(?: (?:zu )?[\w-]+){1,3})\W*$"
        ),
        form(r"(?:bitte )?hört? (?:bitte )?(?:damit )?auf,? (?:mit )?(?P<what>[^;:]{3,80})"),
        form(
            r"(?P<what>[^,;:]{3,60}?) (?:kannst|könnt|können|kann) (?:du|ihr|wir|man) (?:[\w-]+ ){0,3}?(?:weglassen"
            r"|sein lassen"
            r"|bleiben lassen|lassen|überspringen|auslassen)\W*$"
        ),
        form(
            r"(?P<what>[^,;:]{3,60}?) (?:ist|sind) (?:ab jetzt |nun )?(?:nicht mehr|nicht länger) (?:nötig|notwendig"
            r"|pflicht)"
        ),
    ),
    freed=(
        form(
            rf"(?P<what>[^,;:]{{3,60}}?) (?:ist|sind|gehen"
            rf"|geht) (?:[\w-]+ ){{0,2}}?{_FROM_NOW} (?:[\w-]+ ){{0,2}}?{_FINE}\b"
        ),
        form(rf"(?:ab (?:jetzt|sofort) )?(?:ist|sind) (?P<what>[^,;:]{{3,60}}?) (?:[\w-]+ ){{0,2}}?{_FINE}\W*$"),
        form(rf"(?P<what>[^,;:]{{3,60}}?) {_MAY} (?:du|ihr|wir|man) (?:[\w-]+ ){{0,2}}?{_FROM_NOW}\b"),
        form(
            rf"(?:ab (?:jetzt|sofort) |jetzt )?(?:du |ihr |wir )?{_MAY} (?:du |ihr |wir "
            rf"|man )?(?:[\w-]+ ){{0,2}}?{_FROM_NOW}"
            r" (?P<what>[^,;:]{3,60})"
        ),
    ),
    places=words("nach unter"),
    numbers=words("ein eine einen zwei drei vier fünf sechs sieben acht neun zehn zwölf zwanzig"),
    manners=words(
        "förmlich informell locker formell kurz knapp lang ausführlich englisch deutsch französisch spanisch"
        " italienisch chinesisch"
    ),
    placing=words("kommen gehören liegen landen deploye deployen lege leg pack"),
    norms=(
        form(
            r"(?!(?:der|die|das|dies\w*|jen\w*|es|er|sie|wir|ihr|du|ich|man|was|wer|wie|wo|wann|warum|"
            r"woher|einige|zwei|drei|ihre?|seine?|andere)\b)(?:(?:eine?|jede[rs]?|unsere?|meine?|deine?|"
            r"neue) )?(?:[\w-]+ ){1,4}?(?:kommen|kommt|gehört|gehören|liegen|stehen|steht|bleiben|bleibt|"
            r"beginnt|beginnen|fangen|fängt|endet|enden|schließt|braucht|brauchen|bekommt|bekommen|läuft|"
            r"laufen|geht|gehen|passt|passen|wohnen|öffnen|landen|enthält|besitzt|verlassen|wandern|erzählt|"
            r"geben|gibst|schreibst|schreiben|führen|werden|sind|haben|hat)\b(?! (?:noch|wieder|gerade|"
            r"seit|schon|kaputt)\b).*"
        ),
        form(
            r"(?:zu|vor|nach|bei) (?:einer|einem|jeder|jedem|allem|dem zusammen\w+)\b.*|(?:am (?:ende|"
            r"anfang|schluss)|im \w+) (?:einer|eines|jeder|jedes)\b.*|.*\bbei uns\b.*|.*\bin diesem (?:projekt|"
            r"code|team|repo\w*)\b.*"
        ),
        form(r"\w*(?:ge\w+|iert|ver\w+) wird\b.*"),
        form(
            r"(?:bevor|wenn|sobald|wo|falls|ehe|im zweifel)\b(?! (?:ich|wir|der|die|das)\b).*|.*, (?:bevor|"
            r"wenn|sobald|ehe) (?:du|etwas|ich nicke)\b.*|.*(?:zuerst|erst)\b.*(?:und warte\w*|dann|danach|"
            r"bevor).*|.*\bwarte (?:auf|ab)\b.*"
        ),
        form(
            r"(?!(?:der|die|das)\b)[\w-]+(?: [\w-]+){0,3} (?:statt|vor|anstelle von) [\w-]+(?: [\w-]+)"
            r"{0,4}(?:, bitte)?\W*$|[\w-]+(?: [\w-]+){0,2},? bitte\b(?: [\w-]+){0,5}\W*$|(?:\w+ )?(?:prüfer|"
            r"gedanke|satz|\w+) (?:je|pro) \w+.*|\w+ für \w+\W*$"
        ),
        form(
            r".*\b(?:ist|sind|bleibt|bleiben) (?:mein|meine|deine|für|tabu|gesperrt|heilig\w*|unter uns|"
            r"zwischen)\b.*|.*, (?:du|von dir|deine)\b.*|.*\b(?:gehört|gehören) (?:mir|dir|dem|der|euch|"
            r"anderen)\b.*|.*(?:selbst|meine sache|mein revier)\b.*, .*"
        ),
        form(
            r".*\b(?:kannst|darfst) du\b.*|erspar\w*\b.*|lass\w* .*\b(?:weg|leer|in ruhe|heraus|raus|wie)"
            r"\b.*|finger weg\b.*|halte?\b .*\b(?:heraus|kurz|frei|fern)\b.*|behandle\b.*"
        ),
        form(
            r"ich (?:mag|hätte gern|erwarte|möchte|will|lese|lerne|wünsche)\b.*|.* (?:ist|sind) mir (?:lieber|"
            r"recht)\b.*"
        ),
    ),
)
