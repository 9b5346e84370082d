"""German."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.context.rules import german_words
from palimpsest.domain.context.rules.forms import Forms, form, words
from palimpsest.domain.context.rules.german_usage import USAGE

_THIS = r"(?:dies\w{1,2}|unser\w{0,2}|de[mr]|das) (?:ganzen |gesamten )?"
_WORK = r"(?:projekt|repo(?:sitory)?|codebasis|code|sitzung|gespräch|unterhaltung|chat|workspace)"
_SCOPE = (
    r"(?:ab (?:jetzt|sofort|heute|nun)|von (?:jetzt|nun) an|künftig|zukünftig|in zukunft|fortan|jedes mal"
    rf"|(?:in|für) {_THIS}{_WORK}\b|im (?:ganzen |gesamten )?(?:projekt|repo(?:sitory)?|code)\b"
    r"|für den rest|standardmäßig|ausnahmslos|bis auf weiteres)"
)
_RULE_NOUN = (
    r"(?:regel|vorgabe|anweisung|einschränkung|beschränkung|grenze|konvention|richtlinie|entscheidung|limit"
    r"|vorschrift)"
    r"(?:en|n|s)?"
)
_NEVER = r"(?:nie(?:mals)?|keinesfalls|nirgends)"
_ALWAYS = rf"(?:immer|stets|grundsätzlich|ausnahmslos|jedes mal|{_NEVER})"
_VERB = (
    r"(?:verwend|benutz|nutz|nehm|schreib|halt|führ|setz|frag|antwort|sprech|rück|bevorzug"
    r"|vermeid|nenn|benenn|formatier"
    r"|erklär|zeig|lass|beschränk|commit|logg|test|dokumentier|prüf|anfass|änder|lösch|push|deploy|mock|nachfrag|mit)"
)
_NAME = (
    r"((?!(?:der|die|das|den|dem|des|es|ihn|sie|ein|eine|einen|einem|diese|dieser|diesen|mein"
    r"|meine|alles|was|letzte)\b)"
    r"[\w.+#-]+(?: [\w.+#-]+){0,2}?)"
    r"(?=$|[,.:;!](?:\s|$)| (?:und|zugunsten|für|als|auf|zu|durch|nicht|raus|fallen|jetzt|mehr"
    r"|haben|zum|zur|in|auch)\b)"
)

_OF_A_SUBJECT = (
    r"(?:,? (?:was|ich|wir|dir|euch|vorhin|eben|vorher|schon|die|von mir)){0,6} (?:über|zu|zum|zur|für|bezüglich"
    r"|betreffend|wegen|gegen|mit)\b"
)
_THEIR_NOUNS = (
    r"(?:regeln|vorgaben|anweisungen|instruktionen|befehle|richtlinien|einschränkungen|beschränkungen|konventionen"
    r"|vorschriften|entscheidungen|grenzen|nachrichten|prompts?|systemprompts?)"
)
_SWEEPING = form(
    r"\b(?:vergiss|vergesst|vergessen sie|ignorier\w*|missacht\w*|streich\w*|verwirf|verwerft|lösch\w*|übergeh\w*|heb"
    r"|hebe|hebt|nimm|befolge|befolgt) (?:"
    r"(?>(?:(?:bitte|einfach|jetzt|nun|mal|alle[nrs]?|sämtliche\w*|jegliche\w*|die|deine|meine|unsere|ihre|diese"
    r"|bisherige[nr]?|vorherige[nr]?|vorige[nr]?|vorangegangene[nr]?|vorhergehende[nr]?|frühere[nr]?|obige[nr]?"
    rf"|obenstehende[nr]?|bestehende[nr]?|alten?|anderen?) )*){_THEIR_NOUNS}\b(?!{_OF_A_SUBJECT})"
    rf"|(?:bitte |einfach |jetzt |nun |mal )*(?:alles|sämtliches)\b(?!{_OF_A_SUBJECT})"
    r"|(?:bitte |einfach )*das (?:obige|vorherige|bisherige)\b)"
    r"|^(?>(?:(?:alle|sämtliche|die|deine|meine|unsere|bisherigen?|vorherigen?|obigen?|früheren?|bestehenden?) )+)"
    rf"{_THEIR_NOUNS}\b (?:sind|gelten|werden|wurden)\b"
)
_PASSED_ON = form(
    r"\b(?:geschickt|schickte|schickt|schreibt|schrieb|geschrieben|sagte?|gesagt|steht|stand|meldet|meldete|meint"
    r"|meinte|lautet|gepostet|kopiert|bekommen|erhalten|erhielt|gefunden|ausgabe|fehlermeldung|fehler|nachricht|mail"
    r"|e-mail|kommentar|log|text|zitat|ticket|protokoll|antwort|folgendes|seite|artikel|datei)\b"
)
_SAID_MYSELF = form(r"\bich (?:schon |bereits )?(?:sagte|sage|schrieb|gesagt)\b|\bhab\w* ich gesagt\b|\bich gesagt\b")
GERMAN: Final = Forms(
    name="German",
    markers=german_words.MARKERS,
    letters=frozenset("äöß"),
    lead_in=form(
        r"(?:(?:ach|und|aber|also|so|dann|na|nun|ok(?:ay)?|ja|nein(?=[,.!;:])|gut|danke|übrigens"
        r"|apropos|noch etwas|noch was"
        r"|nebenbei|(?:bitte )?(?:denk|denke|denkt) (?:bitte )?(?:daran|dran)|(?:bitte )?beachte?"
        r"|hinweis|wichtig|zur erinnerung"
        r"|bitte|mal|eigentlich|kommando zurück|planänderung|nach reiflicher überlegung"
        r"|nee|h+m+|ich habe? (?:es mir anders überlegt|meine meinung geändert)|doch(?= lieber| nicht)|lieber"
        r"|generell"
        r"|es ist wichtig,? dass)\b(?![\w'-])[\s,.:;!\u2013\u2014-]*)+"
    ),
    scope=form(rf"\b{_SCOPE}\b"),
    opening_scope=form(rf"{_SCOPE}[,:]?\s+(?:gilt )?"),
    scope_alone=form(rf"{_SCOPE}[.:!]?"),
    clause=form(
        r"[,;:\u2013\u2014]\s+|\(|\s--?\s|\s(?=(?:und|aber) (?:bitte )?(?:nie|niemals|immer|nicht"
        r"|kein\w*)\b)"
    ),
    aside=form(r"\s(?:(?:--?|[\u2013\u2014]|weil|da|damit)\s|\()"),
    always=form(rf"{_ALWAYS}\s+(?!mehr\b|wieder\b|gut\b)[\w`]"),
    always_we=form(
        rf"^(?:ist|sind|wird|werden) (?:[\w-]+ ){{1,3}}{_ALWAYS}\b|"
        rf"^(?:{_VERB}\w{{0,3}}|nimm|gib|sprich|fass|fang|stell|leg|mach|schick) (?:[\w.'`/-]+ ){{0,6}}?{_ALWAYS}\b"
        rf"|\b(?:muss|müssen|darf|dürfen|soll|sollst|sollen|sollte|sollten) (?:[\w.'`/-]+ ){{0,6}}?{_ALWAYS}\b"
        rf"|^(?:(?!(?:der|die|das|es|ich|er|sie|dies\w*|mein\w*|da)\b)[\w-]+ ){{1,2}}(?:werden"
        rf"|bekommen|erhalten|brauchen|liegen|gehören|sind|stehen|kommen|bleiben) "
        rf"(?:[\w-]+ ){{0,3}}?{_ALWAYS}\b|^(?:(?!(?:der|die|das|es|ich|er|sie|dies\w*|mein\w*"
        rf"|da)\b)[\w.-]+ ){{1,3}}{_ALWAYS} (?:[\w.`/-]+ ){{0,6}}?\w+en\W*$"
        rf"|^(?:wir|du|bitte) (?:[\w-]+ ){{0,4}}?{_ALWAYS}\b(?! bekommen| gehabt)"
        rf"|^vor (?:jede[mr]|allen) \w+"
    ),
    tale=form(
        r"\b(?:hat|habe|haben|hatte|hatten|war|waren|bekam|bekamen|gestern|letzte[snr]?"
        r"|früher|wurde[n]?|konnte|damals)\b"
        r"(?!.*\b(?:entschieden|geeinigt|beschlossen|umgestiegen|gewechselt|migriert|aufgegeben|rausgeworfen"
        r"|rausgeschmissen|entfernt|abgeschafft|abgelöst"
        r"|gewählt|ersetzt|verworfen)\b)"
    ),
    forbid=form(
        r"(?:auf keinen fall|unter keinen umständen) \w|(?:finger|hände) weg vo[nm]|lass die finger vo[nm]|"
        r"[\w.+#-]+ (?:kommt (?:mir|uns) nicht|geht (?:hier )?gar nicht)\b|"
        r"(?:verwend\w*|benutz\w*|nutz\w*|nimm|schreib\w*|mock\w*|commit\w*|push\w*|lösch\w*"
        r"|änder\w*|fass|rühr|logg?\w*|deploy\w*"
        r"|füg\w*|formatier\w*|fang|mach|setz\w*|bearbeit\w*|entfern\w*|installier\w*"
        r"|erstell\w*) (?:[\w.'`/-]+ ){0,5}?"
        r"(?:nicht|nichts|kein\w*)\b(?! mehr\b| sorgen\b)"
        r"|(?:kein|keine|keinen|keinerlei|nichts) (?!problem|ahnung|fehler|sorge|idee|lust|zeit"
        r"|frage|wunder|sinn|von|davon|ist|geht)\w"
        r"[\w .'`/-]{0,80}(?:\w+en)?\W*$|hör auf,? |ohne (?:\w+ ){1,2}(?:wird|werden|geht(?! (?:gar "
        r"|hier )?nichts)|darf|kein\w*)\b"
    ),
    forbid_we=form(
        r"\b(?:darf|dürfen|darfst) (?!ich\b)(?:[\w.'`/-]+ ){0,6}?(?:nicht|nie|niemals|kein\w*|nichts)\b(?! mehr\b)"
        r"|\b(?:ist|sind) (?:hier |bei uns |im \w+ |in \w+ \w+ )?(?:tabu|verboten|untersagt|nicht erlaubt)\b"
        r"|\bich (?:will"
        r"|möchte) (?:[\w-]+ ){0,3}?kein\w*\b"
        r"|\b[\w.-]+en nicht (?:\w+ )?(?:anfassen|ändern|bearbeiten|löschen|verwenden|benutzen|committen)\b"
        r"|\bdürfen (?:[\w-]+ ){1,4}nicht \w"
    ),
    no_kind=form(
        r"kein\w{0,2} (?!problem|ahnung|fehler|sorge|idee|lust|zeit|frage|wunder"
        r"|sinn)[\w.-]+(?!.*\b(?:gefunden|mehr|ist|sind|war)\b).*"
    ),
    abandoned=form(r"(?:wir|ich) (?:[\w.-]+ ){1,6}?nicht mehr\b|(?:wir|ich) (?:\w+ )?(?:kein\w*|nie) [\w.-]+ mehr\b"),
    negative=form(r"\b(?:nie|niemals|keinesfalls|auf keinen fall|vermeide\w*|tabu|verboten)\b"),
    condition=form(
        r"(?:wenn|falls|sobald|bevor|nachdem|immer wenn|jedes mal,? wenn) (?:du|wir|ich|man|ein\w*|jede\w*)\b"
    ),
    order_after_condition=form(r"(?:dann )?(?:muss|musst|soll|sollst)\b"),
    kind=form(
        r"\b(?:immer|stets|jede[rsnm]?|alle[nr]?|nur|ausschließlich|statt|anstatt|anstelle|höchstens|mindestens"
        r"|maximal"
        r"|überall|grundsätzlich|möglichst|wenn möglich|niemals|nie|unter \d+|bevor du|wann immer|wo immer)\b"
    ),
    weak_kind=form(r"\b(?:kein\w*|nicht|ohne)\b"),
    each=form(r"\b(?:jede[rsnm]?|bevor du|bevor etwas|nach jede\w|vor jede\w|wenn du)\b"),
    owed=form(r"\b(?:muss|müssen|soll|sollen|brauch(?:t|en)|hat|haben)\b"),
    owed_kind=form(
        r"(?:die|das|der|unsere?) (?:\w+ )?(?:api|app|anwendung|schnittstelle|server|dienst|cli"
        r"|oberfläche|datenbank|seite"
        r"|bibliothek|programm|paket|client) (?:muss|soll) |"
        r"(?:alle|jede[rs]?|neue[rn]?|sämtliche) (?!der\b)|(?:(?!(?:der|die|das|den|diese\w?"
        r"|meine?|unsere?|es|ich|er|sie|was|da)\b)[\w-]+ ){0,2}?"
        r"[\w-]+(?:en|s|e|er) (?:müssen|sollen|brauchen)\b"
    ),
    owed_bare=form(r"(?:muss|darf nicht|soll) (?!ein\b|das\b|es\b|ich\b|man\b|wohl\b)(?:nicht |immer |auch )?\w+ \w"),
    decided=form(
        r"wir (?:halten uns an\b|haben uns (?:[\w.-]+ ){0,4}?(?:für|auf)\b.*(?:entschieden"
        r"|geeinigt|verständigt)|haben (?:[\w.-]+ ){1,6}?(?:gewählt|beschlossen)"
        r"|(?:nehmen|setzen auf|bleiben bei|unterstützen|benutzen|verwenden|nutzen|schreiben"
        r"|speichern|behalten|zielen auf"
        r"|arbeiten mit|setzen (?:\w+ ){0,3}auf)\b(?! (?:das|es|den|die|dies\w*)\b)"
        r"|sind (?:[\w.-]+ ){0,2}?von \S+ (?:auf|zu)\b|sind jetzt (?:auf|bei)\b|(?:werfen"
        r"|schmeißen|wechseln|steigen) \w)"
        r"|lass uns (?:[\w-]+ ){0,6}?(?:nehmen|verwenden|benutzen|nutzen|bleiben|wechseln|umsteigen|setzen"
        r"|ersetzen)\b"
        r"|(?:nehmen|bleiben|verwenden|benutzen|nutzen) wir (?!das\b|es\b|den\b|die\b)"
        r"|ich (?:bevorzuge|will|möchte) (?:kein\w*|nur|immer|jede\w*|alle|\w+ gegenüber"
        r"|\w+ statt)\b|bei uns (?:ist|sind|gilt|gelten)\b"
    ),
    choice=form(
        r"(?:wir|ich) (?:habe?n? (?:uns |mich )?.{1,60}(?:entschieden|geeinigt|gewählt"
        r"|beschlossen)|nehmen|setzen|sind|wechseln|bleiben bei)\b"
        r"|lass uns\b|(?:nehmen|bleiben|verwenden) wir\b"
    ),
    standing=form(
        r"(?:[\w-]+ ){0,2}[\w-]+ (?:beginnen|enden|fangen|starten) (?:\w+ )?mit \w|im zweifel \w|[\w-]+ (?:immer"
        r"|stets|grundsätzlich|nie) [\w-]+\W*$"
        r"|(?:niemand|keiner) (?!weiß|kennt|ist|hat|war|merkt)\w+t (?:die|den|das|unser\w*|etwas) "
        r"|unsere \w+ (?:müssen|dürfen|sollen) \w|jede[rs]? (?!der|die)\w+ muss \w"
        r"|zieh\w? \w+ \w+ vor\b|"
        r"bleib\w*(?: wir)? (?:bei|beim) (?!m|d(?:er|em)? \w+ (?:datei|version))\w"
        r"|[\w.-]+ (?:immer |bitte |stets )?(?:unter|höchstens|maximal|max\.?|nicht über|nicht länger als"
        r"|mindestens) \d+ \w+(?: \w+)?\W*$"
        r"|(?:neue|alle|jede|sämtliche)\w* (?:[\w-]+ ){1,3}(?:nur (?:mit|nach|über|per)|brauch\w*|müssen|muss"
        r"|gehen über|geht über|sind in|ist in"
        r"|stehen in|liegen in|kommen in|gehören) \w"
        r"|(?:[\w-]+,? ){0,2}(?:antworten|erklärungen|kommentare|commits|nachrichten|namen|funktionen"
        r"|zusammenfassungen|sätze|tests|doku)"
        r"(?: (?:auf|in) \w+)?,? (?:bitte|nur)\b"
        r"|(?!(?:die|das|der|es|ich|sie|diese)\b)(?:[\w-]+ ){1,2}(?:werden|bleiben|sind|kommen|gehören|heißen"
        r"|stehen) [\w -]{3,40}, (?:nicht|nie) [\w -]{2,30}\W*$"
        r"|[\w-]+en (?:behandeln|betrachten|zählen|werten) (?:wir )?(?:wie|als) \w|behandle\w? [\w-]+ (?:wie|als) \w"
        r"|nichts (?:[\w-]+ ){0,4}(?:pushen|mergen|committen|ändern|löschen|anfassen)\W*$|nur (?!noch|zwei|drei"
        r"|ein|der|die|das|mal|kurz)[\w-]+ in [\w -]{2,30}\W*$|"
        r"(?:unsere?|die) (?:[\w-]+ ){0,2}(?:konvention|regel|richtlinie|vorgabe|policy)(?: ist|:"
        r"| lautet)|maximale? [\w-]+(?: ist|:)? ?\d+"
        r"|[\w-]+(?: [\w-]+){0,3},? (?:bitte )?(?:nur |ausschließlich )(?:auf|in|mit|als) [\w-]+\W*$"
        r"|(?:jede[rs]?|alle) (?:[\w-]+ ){1,3}(?:braucht|brauchen|bekommt|bekommen|hat|haben|enthält|gehört"
        r"|gehören)\b"
        r"|(?:(?!(?:der|die|das|es|ich|er|sie|dies\w*)\b)[\w-]+ ){1,2}(?:gehören"
        r"|liegen) (?:immer )?(?:in|neben|unter|nach)\b"
        r"|in (?:diesem|unserem) \w+ (?:gilt|gelten|darf|dürfen|verwenden wir|benutzen wir)\b"
        r"|(?:gilt|gelten) [\w-]+ für\b"
        r"|(?!(?:der|die|das|mach|mache|starte|lass|führ)\b)[\w.+#-]+(?: [\w.+#-]+){0,5} (?:statt"
        r"|anstatt|anstelle von) (?!zu\b|darauf\b|zu warten)[\w.+#-]+(?: [\w.+#-]+){0,2}\W*$"
        r"|[\w.+#-]+(?: [\w.+#-]+){0,3} (?:bitte, )?(?:bitte )?(?:auf|in) (?-i:[A-ZÄÖÜ])\w+\W*$"
        r"|(?:doppelte|einfache|metrische|imperiale) \w+"
        r"|[\w.+#-]+(?: (?:als|zum|für|zur) [\w.+#-]+){1,2},? nicht [\w.+#-]+\W*$|(?:leerzeichen"
        r"|tabs|[\w.+#-]+) (?:zum|für|als) \w+\W*$"
        r"|[\w.+#-]+ bitte, kein\w* [\w.+#-]+\W*$|\w+e \w+,? bitte\W*$|ersetzt [\w.+#-]+ [\w.+#-]+"
        r"|[\w-]+e [\w-]+n? (?:nicht|nie) \w+en\W*$"
    ),
    habits=german_words.HABITS,
    styles=german_words.STYLES,
    actions=german_words.ACTIONS,
    asked=form(
        r"(?:kann|kannst|könnte|könntest|könnten|sollen|sollten|soll|sollte|würde|würdest|willst"
        r"|hast|habt|ist|sind|hat|warum|wieso|wie|was|welche\w?"
        r"|wer|wo|wann|weshalb|darf|muss|gibt) (?:du|wir|ich|es|das|man|der|die|hältst|meinst|wäre)\b"
    ),
    told=form(
        r"(?:vielleicht|eventuell|angenommen|nehmen wir an|stell dir vor|was wäre|laut|gestern"
        r"|letzte[snr]?|manche|einige|jemand|leute|schauen wir"
        r"|mal sehen|egal|ich (?:glaube|denke|vermute|würde|habe|hatte|sehe|frage|weiß)(?! es mir anders)"
        r"|(?:er|sie|mein\w*|der|die|das|unser\w*|ein\w*) (?:[\w-]+ )?(?:sagte|sagt|meinte|meint"
        r"|beschwert|behauptet|schrieb|fragte|wollte|will|hat)\b"
        r"|in der (?:readme|doku|dokumentation|anleitung) (?:steht|heißt)|das muss ein|in meinem letzten)"
    ),
    told_within=form(
        r"\b(?:würde|würden|hätten|hätte|irgendwann|was (?:meinst|denkst) du"
        r"|aber das ist unsinn|muss \w+ (?:[\w-]+ ){0,8}\w+ sein$)\b"
        r"|\bmuss (?:[\w-]+ ){1,10}(?:sein|haben)\W*$(?<!kompatibel sein.)"
    ),
    task=form(
        r"(?:schreib|schreibe|implementiere|behebe|erstelle|erstell|baue|bau|füg|füge|mach|mache"
        r"|entwickle|korrigiere|ändere|benenne|lösche"
        r"|entferne|ersetze|öffne|stell|setz|verschiebe|repariere|zeig|zeige|übersetze) (?:mir |bitte "
        r"|hier )?(?:de[nmr]|die|das|ein\w{0,2}|eine\w?|diese\w?|\w+ eine|`)\b"
    ),
    relative=form(
        r",? \b(?:der|die|das|dass|damit|so ?dass|welche[rs]?|wo)\b(?= .*\b(?:darf|muss|müssen"
        r"|soll|dürfen|immer|nie|niemals)\b)"
    ),
    one_thing=form(
        r"(?:es|das|dies|(?:der|die|das|diese[rs]?) (?:funktion|methode|test|skript|parser|klasse"
        r"|befehl|knopf|abfrage|ergebnis|ausgabe|datei|seite"
        r"|liste|schleife|variable|wert|feld|kopfzeile)) "
    ),
    once=form(
        r"\b(?:vorerst|erst ?mal|fürs erste|gerade|diesmal|heute|momentan|im moment|zunächst|noch nicht)\b"
        r"|\b(?:für|bei|in) (?:diese[nmrs]?) (?:einen |einzelnen )?(?:test|commit|beispiel|lauf"
        r"|fall|branch|datei|funktion|schritt|aufgabe|ticket)\b"
    ),
    pointed=form(r"^\W*(?:[\w']+\s+){1,2}(?:es|das|dies|diese[sn]?|ihn|ihm)\b(?=\W*$|[ ,](?!\w+ nicht))"),
    specific=form(r"\b(?:de[rnms]|die|das|diese[rnms]?|ein(?!\W*$)|eine[nmrs]?|mein\w*|es|ihn|sie)\b"),
    determined=form(r"\w+ (?:de[nm]|die|das|diese\w?|eine?\w?|mein\w*)\b"),
    purpose=form(r"\s(?:für|als|beim?|zum|zur|im|in|nach|auf|an)\s"),
    turned=form(
        r"(?:(?:nee|nein|ne|ok(?:ay)?|h+m+|ach|oh|sorry|moment|na)[,.! ]+){0,3}"
        r"(?:(?:(?:wir gehen |wir wechseln |geh |wechsle |lass uns )?(?:wieder )?zurück (?:zu[mr]?|auf|nach))"
        r"|wieder (?:auf|mit|zu)"
        r"|doch(?: wieder| lieber)?|(?:dann |doch )?lieber(?: doch)?|stattdessen|(?:mach|machen wir)(?: daraus"
        r"| lieber| doch)+"
        r"|(?:nee|nein|ne|h+m+|moment|sorry)[,.!]+)"
        r" (?P<what>(?!(?:der|die|das|den|dem|ein\w*|nicht|kein\w*|mein\w*)\b)[\w.+#-]+(?: [\w.+#-]+){0,2}?)"
        r"(?: (?:bitte|dann|doch|wieder|nehmen|verwenden))*\W*$"
    ),
    heading=form(r"(?:wir|dieses (?:repo|projekt)|diese codebasis|lass uns|unser\w*|alles)\b"),
    change=form(
        r"\b(?:doch|stattdessen|statt|anstatt|anstelle|lieber|planänderung|anders überlegt"
        r"|kommando zurück|zurück (?:zu|auf)|nicht mehr|kein\w* \w+ mehr|ab (?:jetzt|sofort)"
        r"|umgestiegen|wechseln|gewechselt|migriert|ersetz\w*|wieder|jetzt|nun|geschichte|überlegung)\b"
    ),
    instead=form(r"\b(?:stattdessen|doch lieber)\b"),
    withdrawn=form(
        rf"(?:du kannst )?(?:vergiss|vergesst|ignorier\w*|streich\w*|lösch\w*|verwirf|hebe?|nimm"
        rf"|nehmen)\b(?=.*(?:\b{_RULE_NOUN}\b|\bwas ich\b))"
        rf"|(?:die|das|diese|der) (?:[\w-]+ ){{0,6}}?{_RULE_NOUN}\b(?=.*\b(?:aufgehoben|zurück"
        rf"|nicht mehr|hinfällig|vergessen|weg)\b)"
        r"|das mit .{3,60} (?:kannst|könnt|kann) (?:du |ihr |man )?vergessen"
        r"|.{2,80}\b(?:brauch\w*|muss|musst|müssen|müsst)\b(?=.*\b(?:nicht mehr|nicht länger"
        r"|kein\w* (?:[\w-]+ )?mehr)\b)"
        r"|(?:brauch\w*|musst|müsst)\b(?=.*\bnicht mehr\b)|.{2,60}\b(?:ist|sind|werden"
        r"|wird) (?:nicht mehr|nicht länger) (?:nötig|notwendig|gebraucht|erforderlich|benötigt)"
        r"|(?:bei[m]?|wegen|was) .{2,40}? (?:ha(?:b|be|tte)? ich (?:es mir anders überlegt|meine meinung geändert))"
        r"|keine? .{2,40} mehr\W*$"
        r"|hör(?:t)? (?:bitte )?auf\b"
    ),
    unnamed=form(
        r"(?:vergiss|streich|ignorier) (?:das|es)\b|kommando zurück\b|ich habe? es mir anders überlegt\b"
        r"|planänderung\b"
    ),
    sweeping=_SWEEPING,
    passed_on=_PASSED_ON,
    said_myself=_SAID_MYSELF,
    dropped=(
        form(rf"(?:doch )?(?:nicht|weg mit|vergiss|schmeiß|wirf|streich|verwirf) {_NAME}"),
        form(rf"(?:wir )?(?:werfen|schmeißen|lassen|verwerfen|streichen) {_NAME}"),
        form(
            r"([\w.+#-]+(?: [\w.+#-]+)?) (?:ist|sind|war|waren)(?: jetzt| damit| leider)? (?:vom tisch"
            r"|geschichte|raus|gestorben|passé|abgehakt|erledigt|tot"
            r"|(?:ein|der) fehler|übertrieben|passe"
            r"|keine option mehr)\b"
        ),
        form(
            r"([\w.+#-]+(?: [\w.+#-]+)?) (?:lassen wir (?:fallen|weg)"
            r"|haben wir (?:[\w-]+ ){0,4}(?:aufgegeben|verworfen|rausgeworfen|rausgeschmissen|entfernt"
            r"|abgeschafft|abgelöst|fallen (?:ge)?lassen"
            r"|gestrichen|hinter uns)|werfen wir|fliegt raus|lassen wir (?:\w+ )?(?:bleiben|sein)"
            r"|brauchen wir (?:\w+ )?nicht(?: mehr)?|wurde durch|wird durch"
            r"|nehmen wir (?:\w+ )?nicht(?: mehr)?|kommt (?:\w+ )?weg)"
        ),
        form(r"mit ([\w.+#-]+(?: [\w.+#-]+)?) (?:sind wir (?:durch|fertig)|bin ich durch|ist (?:jetzt )?schluss)"),
        form(
            r"wir haben ([\w.+#-]+(?: [\w.+#-]+)?) (?:[\w-]+ ){0,3}(?:aufgegeben|verworfen|rausgeworfen"
            r"|rausgeschmissen|entfernt"
            r"|abgeschafft|abgelöst|gestrichen)"
        ),
        form(r"([\w.+#-]+(?: [\w.+#-]+)?) ?(?:->|=>|\u2192) ?[A-Za-z][\w.+#-]*(?=$|[,.;:! ])"),
        form(r"(?:ersetz\w?|tausch\w?) ([\w.+#-]+) (?:durch|gegen) "),
        form(
            r"wir (?:verwenden|benutzen|nutzen|nehmen) ([\w.+#-]+(?: [\w.+#-]+)?) (?:nun "
            r"|jetzt )?(?:doch )?nicht\b"
        ),
        form(r"wir (?:verwenden|benutzen|nutzen|nehmen) (?:nun |jetzt )?kein\w* ([\w.+#-]+) mehr"),
        form(r"wir (?:haben|ersetzen) ([\w.+#-]+) durch [\w.+#-]+"),
        form(r"lass uns ([\w.+#-]+) (?:durch|gegen) "),
        form(
            r"(?:wir (?:sind|wechseln|steigen|migrieren)|stell\w*|wechsle|migriere"
            r"|lass uns) (?:(?:die|den|das|jetzt) )?(?:[\w-]+ ){0,2}?von ([\w.+#-]+) (?:auf|zu"
            r"|nach)\b"
        ),
        form(r"(?:[\w.+#-]+ )?ersetzt (?:[a-z]\w+ (?=[a-z]+ ))?([\w.+#-]+)"),
        form(r"nehmen wir (?:doch )?(?:nicht )([\w.+#-]+)"),
    ),
    permitted=form(
        r"(?:du|ihr|wir) (?:darfst|dürft|dürfen|kannst|könnt|können)\b(?=.*\b(?:jetzt|nun|wieder|doch|ab sofort)\b)"
        r"|.{2,60}(?:darfst|dürft|dürfen|kannst) (?:du|ihr|wir) (?:jetzt|nun|wieder|doch|ab sofort)\b"
        r"|.{2,60}\b(?:ist|sind) (?:jetzt|nun|wieder|doch|ab sofort) (?:wieder |doch )?(?:erlaubt"
        r"|in ordnung|okay|ok|gestattet|möglich)"
    ),
    about=form(
        rf"\b(?:mit de[nmr]|gegen|für|über)\b|\b{_RULE_NOUN}\b|\b(?:aufgehoben|hinfällig|zurück"
        rf"|gesagt|erlaubt|ordnung|nötig|notwendig|gebraucht|erforderlich|vergessen|vergiss|gilt"
        r"|anders|überlegt|meinung|geändert|beim|wegen|ignorier\w*|laufen|\w*lassen|brauch\w*|muss\w*|müssen|hör)\b"
    ),
    rule_noun=form(rf"\b{_RULE_NOUN}\b"),
    rejected=(
        form(
            r"\b(?:statt|anstatt|anstelle von|gegenüber)\s+((?:(?!(?:für|zu|als|bitte|in|zum"
            r"|nehmen|verwenden|wir)\b)[\w.+#-]+\b\s*){1,2})(?!\w)(?!\s*zu \w)"
        ),
        form(r"\blieber [\w.+#-]+ als ([\w.+#-]+)"),
        form(r"(?<!\bgibt es )(?<!\bgibts )\b(?:nicht|kein\w*|und nicht)\s+([\w.+#-]+)(?=\s*[.!]?$|,)"),
    ),
    chosen=(
        form(r"wir haben (?P<what>[\w.+#-]+) (?:für (?P<purpose>(?:[\w-]+ ){1,3}))?gewählt"),
        form(r"(?:für|zum) (?P<purpose>(?:[\w-]+ ){1,3})(?:auf|zu) (?P<what>[\w.+#-]+) (?:wechseln|umsteigen)"),
        form(
            r"(?:\b(?:verwende\w?|benutze?\w?|nutze?\w?|nimm|nehmen(?: wir)?|setzen (?:wir )?auf"
            r"|bleiben (?:wir )?bei|bevorzuge|auf|für(?= (?-i:[A-Z])))) (?!diese|den|die|das)"
            r"(?P<what>(?!(?:den|die|das|ein\w*|wir|doch|lieber"
            r"|stattdessen)\b)[\w.+#-]+(?: (?!für|als|zum|zur|beim)[\w.+#-]+)?)"
            r"(?: (?:für|als|zum|zur|beim) (?P<purpose>(?:[\w-]+ ?){1,4}))?"
        ),
    ),
    scopes=words("cod projekt repo datei sitzung all funktion klass test"),
    rivals=german_words.RIVALS,
    topics=words("einrück einheit anführungszeich nam paket sprach antwort formatier"),
    stop=german_words.STOP,
    doubling=frozenset(),
    suffixes=german_words.SUFFIXES,
    participle=form(r"ge(?!b|n|s?ch|w|d|h)(\w{4,})t"),
    usage=USAGE,
)
