"""Spanish: habits, single steps, permission and giving up, by classes of words."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.context.rules.forms import Usage, form, words

_THE = r"(?:(?:el|la|los|las|del|de la|de los|nuestr[oa]s?|lo del|lo de la|lo de los|lo de las|lo de) )?"
_NAME = (
    rf"{_THE}(?P<what>(?!(?:el|la|los|las|lo|un|una|este|esta|eso|esto|que|todo|nada|no|ya|se|de|del)\b)"
    r"[\w.+#/-]+(?: [\w.+#/-]+){0,2}?)"
)
_END = r"(?=\W*$|[,.;:!]| (?:y|por|para|en|ahora|del todo|porfa|como|a favor)\b)"
_FROM_NOW = r"(?:ya|ahora|ahora sí|de nuevo|otra vez|(?:a partir|desde) (?:de )?(?:ahora|hoy)|de ahora en adelante)"
_FINE = r"(?:permitid[oa]s?|bien|ok|autorizad[oa]s?|bienvenid[oa]s?|aceptad[oa]s?|posibles?)"
_CHOOSE = r"(?:usa|usemos|usamos|mejor|vamos con|pon|toma|prefiero)"
_ORDER = (
    r"(?:usa|mantén|pon|escribe|nombra|muestra|lista|explica|revisa|documenta|comenta|prueba|añade|ordena|guarda|coloca"
    r"|trata|indenta|formatea|ejecuta|firma|marca|registra|comprueba)"
)

USAGE: Final = Usage(
    request=form(
        r"(?:puedes|podrías|puede|podéis) (?:por favor |porfa )?(?=(?:[\w-]+ ){0,3}(?:siempre|nunca)\b|dejar de"
        r"|.*\b(?:a partir de ahora|de ahora en adelante|desde ahora|en adelante)\b)"
    ),
    plea=form(
        r"(?:a partir de (?:hoy|mañana),?|(?:recuerda|no olvides|ten en cuenta|acuérdate de) (?:que )?"
        r"|(?:una |nueva |otra |mi )*(?:regla|norma|petición|convención)(?: (?:para|de) [\w ]{1,20})?\s*:"
        r"|(?:estaría|sería) (?:bien|genial|mejor|bueno|ideal) (?:que|si)(?: tú)?|pase lo que pase"
        r"|(?:para )?la próxima(?: vez)?(?: y siempre)?\s*[:,]|procura(?= (?:no|nunca|siempre))|intenta(?= (?:no"
        r"|nunca|evitar))"
        r"|trata de(?= (?:no|nunca|evitar)))[\s,:;\u2013\u2014-]*"
    ),
    assent=form(r"(?:sí|si,|claro|exacto|eso es|correcto)[\s,.!]"),
    past=form(
        r"\b(?:antes (?:había|teníamos|era|se)|en aquella época|en mi (?:último|antiguo|anterior) \w+|el (?:año"
        r"|mes) pasado"
        r"|la semana pasada|(?:había|tuvimos|teníamos) que)\b|\b(?:nunca|siempre|jamás) \w+(?:iste|aste|ieron|aron|ió"
        r"|imos|amos antes)\b"
        r"|\b(?:nunca|siempre|jamás) \w+ría\w?\b|\b(?:mi|el|la) [\w-]+ siempre \w+a\b"
    ),
    momentary=form(
        r"\bantes de (?:empezar|comenzar|continuar|seguir|arrancar|programar)\b|\b(?:no|nada) [\w ]{0,20}\b(?:todavía"
        r"|aún|ahora)\W*$"
        r"|\bsolo (?:por )?esta vez\b|^(?:usemos|pongamos|hagamos) una? [\w-]+ aquí\b"
    ),
    made=form(
        r"(?:añade|escribe|crea|haz|construye|implementa|cambia|modifica) [\w .`-]{2,60}?(?:: | que (?:compruebe"
        r"|verifique|pruebe)"
        r"|(?<!vez) para que )"
        r"|(?:da|dame|muestra|muéstrame|envía) (?:el|la) [\w ]{3,30} de cada \w+,"
    ),
    habitual=form(
        r"(?:tod[oa]s (?:l[oa]s )?|cada )[\w-]+(?: [\w-]+)? (?:en|con|por|vía|como|bajo) [\w. -]{2,30}\W*$"
        r"|(?:un[oa]? sol[oa]|solo un[oa]?|un|una|dos|tres|\d+) [\w-]+ por [\w-]+(?: [\w-]+)?(?:,? (?:porfa|por favor"
        r"|como máximo))?\W*$"
        r"|(?!(?:el|la|los|las|un|una|este|esta)\b)[\w-]+ de (?:máximo )?\d+ [\w-]+\W*$"
        r"|(?:espero|exijo|quiero) (?:un|una|que|siempre) .*\b(?:cada|todos|todas|siempre)\b"
        r"|l[oa]s (?:[\w-]+ ){1,3}(?:deben|deberían|tienen que|han de) (?:siempre )?(?:ser|estar|ir|tener|empezar"
        r"|pasar|terminar"
        r"|contener|quedar) (?!list)\w"
        r"|usa (?:simplemente |solo |siempre )?(?:el|la) [\w-]+ `?[\w.-]+`? para (?:los|las|todos|todas) \w"
        r"|usa (?:la|el) [\w-]+ v?\d[\w.]*\W*$"
        r"|mantén (?:las|los|tus) [\w-]+(?: [\w-]+)? (?:cort[oa]s|pequeñ[oa]s|simples|breves|limpi[oa]s|pur[oa]s"
        r"|liger[oa]s"
        r"|concis[oa]s)\W*$"
        r"|(?:pon|guarda|coloca|mete) (?:los|las|tus) [\w-]+ (?:en|bajo|junto a|dentro de) [\w./` -]{2,30}\W*$"
        r"|trabajamos (?:con|en) \w"
        rf"|{_ORDER} (?:bien |siempre )?(?:[\w-]+ ){{0,3}}(?:cada vez|cada [\w-]+)\W*$"
        rf"|{_ORDER} siempre \w"
        r"|siempre \w+(?:aras|ieras|ases|ieses) \w"
        r"|hacen falta (?:dos|tres|\d+|siempre) \w|se (?:necesitan|requieren|exigen) (?:dos|tres|\d+|siempre) \w"
        r"|(?:l[oa]s|tod[oa]s) (?:[\w-]+ ){1,3}(?:nunca|siempre) se \w"
        r"|despliega (?:con|vía|en (?-i:[A-Z])\w+\W*$)"
        r"|es (?:importante|obligatorio|esencial|imprescindible|fundamental) (?:que )?\w"
    ),
    barred=form(
        r"no (?:hacer|usar|tocar|subir|borrar|escribir|añadir)\w* (?:nunca|jamás) \w|(?:nunca|jamás) (?:hacer|usar"
        r"|subir) \w"
        r"|para de \w+(?:ar|er|ir)\b|(?:no se puede|no puedes|no podemos) (?:usar|añadir|tocar|borrar|modificar"
        r"|instalar|importar"
        r"|subir) (?!(?:el|la|esto|eso|este|esta)\b)\w"
        r"|(?:odio|detesto|no soporto|no me gustan?) (?!(?:esto|eso|este|esta)\b)\w"
        r"|(?:no )\w+ (?:bajo ninguna circunstancia|bajo ningún concepto|nunca|jamás) \w"
    ),
    ended=(
        form(
            r"(?:olvida(?:te)?|olvídate|olvidemos|olvidémonos|tira|tiremos|quita|quitemos|elimina|eliminemos|descarta"
            r"|fuera"
            rf"|deshazte|deshagámonos)(?: (?:de|del))? {_NAME}{_END}"
        ),
        form(
            rf"{_NAME} (?:es|son|era) (?:\w+ )?(?:demasiado|excesivo"
            rf"|overkill)\b[^,;]{{0,30}}[,;.]\s*(?:así que )?{_CHOOSE}"
        ),
        form(
            rf"{_NAME} ya no (?:se (?:usa|usan|utiliza|necesita|necesitan|emplea)|es necesari[oa]|hace falta"
            rf"|son necesari[oa]s"
            r"|es una opción)\b"
        ),
        form(rf"(?:ya )?no (?:usamos|usaremos|queremos|quiero|necesitamos|vamos con) {_NAME}{_END}"),
        form(rf"ya no (?:usamos|usaremos|quiero|queremos|vamos con) {_NAME}{_END}"),
        form(rf"(?:al final )?no quiero {_NAME}\W*$"),
        form(rf"{_NAME} (?:queda|se queda|está) (?:fuera|descartad[oa]|muert[oa])\b"),
        form(rf"{_NAME} (?:murió|desaparece|se va|ya murió)\b"),
        form(rf"{_NAME} l[oa]s? (?:dejamos|quitamos|abandonamos|descartamos|tiramos)(?=\W*$|[,.;])"),
        form(
            rf"(?:estamos|vamos a|voy a) (?:reemplaz|sustitu|cambi|dej|abandon|quit)\w+ {_NAME}(?= (?:por|con)\b"
            rf"|\W*$|,)"
        ),
        form(r"(?P<what>[\w.+#-]+) no, (?:mejor )?[\w.+#-]+\W*$"),
        form(r"no (?P<what>[\w.+#-]+), (?:sino )?[\w.+#-]+(?: [\w.+#-]+)?\W*$"),
        form(rf".{{3,60}}, no (?:en|con|a) {_NAME}\W*$"),
    ),
    unneeded=(
        form(rf"me equivoqué (?:con|sobre|en|al usar) {_NAME}{_END}"),
        form(rf"(?:cambié|he cambiado) de (?:opinión|idea) (?:sobre|con|respecto a) {_NAME}{_END}"),
        form(r"(?:ya )?no (?:hace falta|es necesario|hay que|es preciso) (?:que )?(?:me )?(?P<what>[^,;:]{3,80})"),
        form(
            r"ya no (?:tienes que|necesitas?|necesito|debes|tenemos que|necesitamos"
            r"|quiero)(?: más)? (?P<what>[^,;:]{3,80})"
        ),
        form(r"(?:deja|para) de (?P<what>[^,;:]{3,80})"),
        form(r"puedes (?:dejar de|omitir|saltarte|olvidar|prescindir de) (?P<what>[^,;:]{3,60})"),
        form(r"no más (?P<what>[\w-]+(?: [\w-]+){0,3})\W*$"),
    ),
    freed=(
        form(rf"(?P<what>[^,;:]{{3,60}}?) (?:ya )?(?:es|son|está|están) {_FINE} {_FROM_NOW}\W*$"),
        form(rf"(?P<what>[^,;:]{{3,60}}?) (?:ya|ahora) (?:es|son|está|están) {_FINE}\b"),
        form(rf"(?P<what>[^,;:]{{3,60}}?) vuelven? a (?:ser |estar )?{_FINE}\b"),
        form(rf"{_FROM_NOW} (?:sí )?(?:puedes|podemos|se puede|podéis) (?P<what>[^,;:]{{3,60}})"),
        form(rf"(?:puedes|podemos|se puede|podéis) (?P<what>[^,;:]{{3,60}}?) {_FROM_NOW}\W*$"),
        form(r"(?:puedes|podemos|podéis) volver a (?P<what>[^,;:]{3,60})"),
    ),
    places=words("bajo a"),
    numbers=words("un una dos tres cuatro cinco seis siete ocho nueve diez doce veinte"),
    manners=words("formal informal breve brev larg detall español inglé alemán francé italian chin"),
    placing=words("pon guarda coloca mete van despliega desplegamos"),
    norms=(
        form(
            r"(?:l[oa]s|una?|cada|nuestr[oa]s|mis?|tus|el|la) (?:[\w-]+ ){1,5}?(?:van?|quedan?|se quedan?|"
            r"pasan?|empiezan?|comienzan?|terminan?|cierran?|vienen?|llevan?|residen?|permanecen?|está|"
            r"están|pertenecen?|contienen?|caben?|reciben?|se \w+n?|requieren?|necesitan?|viven|salen|"
            r"suben|son|es)\b(?! (?:otra|todavía|ya|mal)\b).*"
        ),
        form(
            r"(?:en (?:este|esta|nuestro|nuestra)|aquí|entre nosotros|antes de \w+r)\b.*\b(?:se|nos) \w+.*|"
            r"guardamos\b.*|usamos\b.*"
        ),
        form(
            r"al (?:\w+r)\b.*, \w+.*|(?:antes de|después de|cuando|en cuanto|donde|en caso de)\b.*, \w+.*|"
            r".* antes de (?:\w+r|\w+rme|\w+rlo|que)\b.*|(?:enséñame|muéstrame|dime|preséntame|pide)\b.*\b(?:primero|"
            r"espera\w*)\b.*|(?:párate|para) y .*"
        ),
        form(
            r"(?:primero .*, (?:luego|después)|[\w-]+(?: [\w-]+){0,3} (?:antes que|en lugar de|en vez "
            r"de) .*|[\w-]+(?: [\w-]+){0,4}, .* como (?:mucho|máximo)|(?:un[oa]?|dos|tres) \w+ (?:por|"
            r"a la) \w+|utc para).*"
        ),
        form(
            r"manos fuera\b.*|deja\b.*\b(?:fuera|como|en paz|vací\w+)\b.*|(?:ahórra|ahorra)\w*\b.*|puedes "
            r"(?:ahorrar|lanzar|omitir|saltar|prescindir)\w*\b.*|mant[eé]n\w*\b.*|trata\b.*|redondea\w* "
            r"l[oa]s\b.*"
        ),
        form(
            r".*\b(?:es|son|está|están|queda) (?:cosa mía|tuy[oa]s?|mí[oa]s?|para|mi \w+|vedad[oa]s?|entre|"
            r"solamente|terreno|sagrad\w)\b.*|.*\byo[;,].*\btú\b.*|.*; tú \w+.*|(?:me gustan?|prefiero|"
            r"quisiera|espero|leo|aprendo)\b.*"
        ),
    ),
)
