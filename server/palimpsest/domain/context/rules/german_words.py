"""German: the words of the language by their part in a rule, and the endings of inflection."""

from __future__ import annotations

from palimpsest.domain.context.rules.forms import words

MARKERS = words(
    "in diese diesem diesen dieser dieses"
    " der die das den dem des und oder ist sind war nicht kein keine keinen ein eine einen"
    " einem einer wir ich du ihr"
    " mir mich dir uns es im am zu zum zur auf aus bei mit von für über unter nach vor wenn dass weil"
    " immer nie niemals stets bitte nur auch noch doch jetzt ab statt anstatt anstelle muss musst müssen soll"
    " sollst sollen darf darfst dürfen jede jeder jedes jeden alle allen lass nehmen mehr wieder lieber"
    " werden wird haben hat sich sie bleiben wo bevor stattdessen kann kannst"
)
HABITS = words(
    "fass verwende verwendet benutze benutzt nutze nutzt nimm nehmt schreib schreibe schreibt"
    " halte halt haltet führ führe setz"
    " setze stell stelle frag frage antworte antwort sprich rücke rück bevorzuge vermeide"
    " nenn nenne benenne formatiere"
    " erklär erkläre zeig zeige füge füg gib bleib bleibe begrenze beschränke logge dokumentiere lass lege leg"
    " behandle kennzeichne beginne beende fasse sag sage rebase squashe merge committe"
)
STYLES = words(
    "verwende verwendet benutze benutzt nutze nutzt nimm nehmt schreib schreibe antworte"
    " antwort sprich rücke rück bevorzuge"
    " vermeide benenne nenne bleib bleibe beschränke begrenze"
)
ACTIONS = words(
    "teste prüfe prüf lösche lösch erstelle erstell füge starte push pushe aktualisiere lies"
    " dokumentier kommentier generier aktualisier formatier validier regenerier lasse warte warne melde"
    " schick schicke"
)
RIVALS = tuple(
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
        "englisch deutsch französisch spanisch italienisch chinesisch",
        "förmlich informell locker formell",
        "kurz knapp lang ausführlich",
    )
)
STOP = words(
    "der die das den dem des und oder ist sind war nicht kein keine keinen keinem ein eine"
    " einen einem einer eines wir ich du ihr"
    " mir mich dir dich uns es im am an zu zum zur auf aus bei beim mit von für über unter"
    " nach vor wenn dass weil immer nie"
    " niemals stets bitte nur auch noch doch jetzt nun ab sofort statt anstatt anstelle muss"
    " musst müssen soll sollst sollen"
    " darf darfst dürfen kann kannst jede jeder jedes jeden jedem alle allen lass lassen"
    " mehr wieder lieber werden wird haben"
    " hat sich sie bevor stattdessen verwende verwenden verwendet benutze benutzen benutzt"
    " nutze nutzen nutzt nimm nehmen nehmt"
    " so da als in um was wie wo länger höchstens mindestens maximal grundsätzlich uns unser unsere okay gut"
    " ganz sehr dies diese dieser dieses diesem diesen projekt repository in zukunft bleiben"
    " bleib bei brauchst brauchen braucht"
    " habe gesagt mal ja halt einfach sinnvoll immer möglich entschieden entscheidung"
    " gegenüber bevorzuge setzen umgestiegen"
)
SUFFIXES = (
    "ungen",
    "ung",
    "ieren",
    "iere",
    "ier",
    "iert",
    "est",
    "ene",
    "enen",
    "ens",
    "en",
    "er",
    "em",
    "es",
    "et",
    "st",
    "t",
    "e",
    "s",
    "n",
)
