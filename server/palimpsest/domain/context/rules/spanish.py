"""Spanish."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.context.rules.forms import Forms, form, words
from palimpsest.domain.context.rules.spanish_usage import USAGE

_SCOPE = (
    r"(?:(?:a partir|desde|de) (?:de )?ahora(?: en adelante)?|de aquí en adelante|en adelante"
    r"|en el futuro|cada vez|como regla general|por regla general"
    r"|(?:en|para) (?:este|esta|nuestro|todo el) (?:repositorio|proyecto|repo|código|sesión"
    r"|conversación)|por defecto"
    r"|sin excepción|durante el resto)"
)
_RULE_NOUN = r"(?:reglas?|instrucci(?:ón|ones)|restricción|límite|decisión|convención|normas?|requisito|directriz)"
_ALWAYS = r"(?:siempre|nunca|jamás|cada vez)"
_NAME = (
    r"((?!(?:el|la|los|las|lo|este|esta|esto|ese|esa|eso|un|una|todo|que|mi|último)\b)[\w.+#-]+(?: [\w.+#-]+){0,2}?)"
    r"(?=$|[,.:;!](?:\s|$)| (?:y|a favor|para|como|a|al|por|ahora|la semana|ayer|el mes|hace|desde|del todo|en"
    r"|desde)\b)"
)
_VERB = (
    r"(?:us[aeo]|mant[eé]n|ejecut|toqu|toc|pon|escrib|respond|prefier|evit|pregunt|limit|nombr"
    r"|indent|expli[cq]|muestr|enséñ|hag|haz|modif|borr|añad"
    r"|despli|simul|registr|captur|reformat|trat|env[ií]|pid|guard|recuerd)\w{0,5}"
)

_OF_A_SUBJECT = (
    r"(?: (?:lo|que|te|os|he|hemos|dije|dicho|dijimos|anteriores)){0,6} (?:sobre|acerca|respecto|contra|para"
    r"|relativas? a)\b"
)
_THEIR_NOUNS = (
    r"(?:reglas|instrucciones|restricciones|límites|decisiones|convenciones|normas|requisitos|directrices|órdenes"
    r"|indicaciones|mensajes|prompts?)"
)
_SWEEPING = form(
    r"\b(?:olvida\w*|ignor[ae]\w*|anula\w*|descarta\w*|omit[ea]\w*|borra\w*|elimina\w*|retira\w*|revoca\w*|quita\w*"
    r"|haz caso omiso (?:a|de)|haga caso omiso (?:a|de)|no (?:sigas|siga|hagas caso (?:a|de)|respetes)"
    r"|deja de (?:seguir|respetar)) (?:"
    r"(?>(?:(?:todas?|todos?|cualquier|las|los|tus|sus|mis|nuestras|estas|esas|de|a|anteriores|previas|demás) )*)"
    rf"{_THEIR_NOUNS}\b(?!{_OF_A_SUBJECT})(?! (?:de|del|que) )"
    rf"|(?:absolutamente )?todo\b(?!{_OF_A_SUBJECT})|lo (?:anterior|de arriba)\b)"
    r"|^(?>(?:(?:todas|todos|las|los|tus|mis|nuestras|estas) )+)"
    rf"{_THEIR_NOUNS}\b(?: (?:anteriores|previas|previos))? (?:quedan|están|ya no|son)\b"
)
_PASSED_ON = form(
    r"\b(?:enviado|envió|manda|mandó|mandado|escribió|escrito|escribe|dice|dijo|dicho|respondió|muestra|pone|recibí"
    r"|recibido|encontré|copiado|pegado|publicó|mensaje|correo|comentario|registro|log|logs|salida|error|texto|cita"
    r"|ticket|respuesta|página|artículo|archivo|fichero|siguiente)\b"
)
_SAID_MYSELF = form(r"\b(?:ya )?(?:dije|digo|he dicho|te dije|escribí)\b")
SPANISH: Final = Forms(
    name="Spanish",
    markers=words(
        "cualquier desde hasta muy"
        " el la los las un una unos de del y o es son era no ni nunca jamás más en sobre para por"
        " con sin que quien cual al lo se"
        " este esta estos esto ese esa eso yo tú él ella nosotros me te nos mi tu su nuestro"
        " nuestra si pero porque cuando como todo"
        " todos todas cada nada siempre debe debes deben debemos hay ya a hemos he ahora lugar"
        " vez mejor antes después usamos uses usa"
        " usemos vamos puede puedes pueden solo sólo aquí favor sigamos sea"
    ),
    letters=frozenset("ñ\u00bf\u00a1óíúá"),
    lead_in=form(
        r"(?:(?:y|pero|entonces|bueno|vale|ok|sí|no(?=[,.!;:])|gracias|por cierto|además"
        r"|en realidad|porfa|m{2,}|h+m+|de hecho|al final|nota(?: que)?|importante|recuerda(?: que)?"
        r"|recordatorio|por favor|pensándolo mejor|cambio de planes|he cambiado de (?:opinión|idea)(?! (?:con"
        r"|sobre|en)\b)"
        r"|en general|quiero que|así que|mejor"
        r"|es importante que)(?![\w'-])[\s,.:;!\u2013\u2014-]*)+"
    ),
    scope=form(rf"\b{_SCOPE}\b"),
    opening_scope=form(rf"{_SCOPE}\s*[,:]?\s+"),
    scope_alone=form(rf"{_SCOPE}[.:!]?"),
    clause=form(r"[,;:\u2013\u2014]\s+|\(|\s--?\s|\s(?=(?:y|pero) (?:nunca|siempre|no|jamás)\b)"),
    aside=form(r"\s(?:(?:--?|[\u2013\u2014]|porque|ya que|pues|para que)\s|\()"),
    always=form(
        rf"{_ALWAYS}\s+(?!\w+o\b|hemos\b|han\b|ha\b|has\b|hay\b|he\b|hubo\b|entendí\b|falla\b|teníamos\b"
        rf"|obten\w+)[\w`]"
    ),
    always_we=form(
        rf"^(?:no )?{_VERB} (?:[\w.'`/-]+ ){{0,4}}?{_ALWAYS}\b"
        rf"|\b(?:debe|debes|deben|debemos|hay que|tiene que"
        rf"|tienen que)\b (?:[\w.'`/-]+ ){{0,4}}?{_ALWAYS}\b|\b{_ALWAYS} (?:se )?(?:debe|debes"
        rf"|deben|debemos|hay que)\b"
        rf"|^(?:los|las|todos los|todas las|nuestros|nuestras) (?:[\w'-]+ ){{1,4}}?(?:se \w+|van"
        rf"|son|están|deben) {_ALWAYS}\b|^no se [\w ]{{3,30}}{_ALWAYS}\b"
        rf"|\bno se debe [\w ]{{2,30}}{_ALWAYS}\b"
    ),
    tale=form(
        r"\b(?:ayer|nunca escribió|nunca entendí|nunca hay|teníamos|obteníamos|era|eran|fue"
        r"|fueron|había|siempre falla|siempre ten\w+|el año pasado"
        r"|anterior nunca|el \w+ antiguo pasó)\b"
    ),
    forbid=form(
        r"(?:bajo ningún concepto|en ningún caso) \w|ni se te ocurra \w|manos fuera de \w|nada de (?!eso|esto"
        r"|momento)\w|"
        r"no (?:me |te |lo |la |los |las |se )?(?!hay|es|está|sé|hace falta|tengo|tenía|funciona"
        r"|puedo|entiendo|importa|te preocupes|preocupes|olvides|pasa|dudes)"
        r"(?:\w+es|\w+as|\w+ar|\w+er|\w+ir|uses|toques|hagas|añadas|modifiques"
        r"|captures)\b(?! preocup)|nada de \w|ningún\w* \w|evit(?:a|e|ar|emos) \w|deja de \w"
        r"|no (?:usamos|usemos|queremos|hacemos|soportamos|permitimos)\b|sin (?:mi"
        r"|nuestra) \w+ no\b|sin \w+(?=,? por favor|\W*$)"
    ),
    forbid_we=form(
        r"\bno (?:se )?(?:debe[ns]?|puede[ns]?|debemos|podemos) (?!haber|saber)\w|\b(?:están?"
        r"|queda) prohibid\w+|^[\w.+#-]+,? (?:ni hablar|ni pensarlo|prohibido|descartado)\b"
        r"|\bno quiero (?!decir)\w|\bnada (?:[\w']+ ){0,5}(?:puede|debe)\b"
        r"|\bnada se (?!ve\b|sabe\b)\w+\b|\bno (?:se )?(?:despliega|toca|modifica|borra) nada\b"
    ),
    no_kind=form(
        r"(?:nada de|ningún|ninguna|sin) (?!problema|duda|error|idea"
        r"|embargo)[\w.'-]+(?!.*\b(?:encontr\w+|queda|es|son|era)\b).*"
    ),
    abandoned=form(
        r"ya no (?:usamos|guardamos|queremos|hacemos|seguimos|soportamos|escribimos|uso"
        r"|usaremos)\b|.{2,40} ya no (?:usamos|guardamos|queremos|hacemos)\b"
    ),
    negative=form(r"\b(?:nunca|jamás|prohibid\w+|evita\w*|bajo ningún concepto)\b"),
    condition=form(r"(?:cuando|antes de|después de|tras|si|siempre que|cada vez que) (?:\w+)"),
    order_after_condition=form(r"(?:debes|tienes que|hay que)\b"),
    kind=form(
        r"\b(?:siempre|nunca|cada|todos|todas|todo el código nuevo|solo|sólo|únicamente|solamente"
        r"|en lugar de|en vez de|como máximo|máximo|como mínimo"
        r"|en todas partes|siempre que|si es posible|exclusivamente|por debajo de|menos de \d+"
        r"|antes de|después de cada|cuando cambies)\b"
    ),
    weak_kind=form(r"\b(?:no|sin|ningún\w*)\b"),
    each=form(r"\b(?:cada|antes de|cuando \w+es|después de cada|todas? l[oa]s)\b"),
    owed=form(r"\b(?:debe|deben|tienen? que|necesitan?|hay que)\b"),
    owed_kind=form(
        r"(?:la|el|nuestra|nuestro) (?:\w+ )?(?:api|aplicación|servicio|servidor|interfaz"
        r"|base de datos|biblioteca|cliente|cli|programa"
        r"|paquete|sitio) (?:debe|tiene que) |"
        r"(?:todos|todas|cada|todo|los|las|nuestros|nuestras) (?!dos\b)"
    ),
    owed_bare=form(r"(?:debe|hay que|tiene que) (?!haber|ser una broma)(?:no |siempre )?\w+ \w|nunca debemos \w"),
    decided=form(
        r"(?:hemos|nos hemos|he) (?:decidido|elegido|acordado|optado|pasado de|migrado de"
        r"|abandonado)\b|(?:decidimos|acordamos|elegimos|optamos por|apostamos por|dejamos)\b"
        r"|(?:al final )?(?:vamos con|nos quedamos con|seguimos con|seguimos|usamos|usemos"
        r"|guardamos|escribimos|apuntamos a|soportamos|usaremos|solo soportamos|sólo soportamos"
        r"|sigamos con"
        r"|cambiemos a|pasamos a|pasemos a|reemplacemos|abandonemos|abandonamos"
        r"|estamos en)\b(?! (?:esto|eso|con el mismo)\b)|prefiero\b(?! que no)|aquí (?:no |los "
        r"|las |se )"
        r"|quiero que (?:cada|todos|todas|siempre)"
    ),
    choice=form(
        r"(?:hemos|nos hemos|he) (?:decidido|elegido|acordado|optado|pasado|migrado|abandonado)\b"
        r"|(?:decidimos|acordamos|elegimos|optamos por|apostamos por|vamos con"
        r"|usemos|cambiemos a|pasamos a|sigamos con|reemplacemos)\b"
    ),
    standing=form(
        r"l[oa]s (?:[\w-]+ ){1,3}(?:empiezan|comienzan|terminan|acaban) (?:por|con|en) \w|en caso de duda,? \w"
        r"|l[oa]s [\w-]+ (?:siempre|nunca) \w"
        r"|nadie (?!sabe|ha|es|dijo)\w+ (?:la|el|los|las|nada) \w|(?:da|ense\u00f1a|muestra"
        r"|di)(?:me)? siempre \w|dej[ae] (?:en paz|tranquil\w+) \w|no m\u00e1s de (?:\d+|una?|dos|tres) \w+ por \w"
        r"|tod[oa] \w+ (?:[\w-]+ ){0,4}(?:requiere|necesita|debe|pasa por) \w|"
        r"(?:quéd[ae]\w*|cíñe\w*|ciñámonos|quedémonos|mantente|atente) (?:con|a|en) (?!es[oe]|est[eoa])\w"
        r"|(?:[\w-]+ ){1,4}?(?:por debajo de|de menos de|de como máximo|de|máximo|menos de"
        r"|no más de) \d+ \w+(?: (?:como máximo|máximo|como mínimo))?\W*$"
        r"|(?:tod[oa]s?|cada) (?:l[oa]s )?(?!es[oe]|est[eo])(?:[\w-]+ ){1,3}?(?:necesitan?|requieren?|pasan? por"
        r"|van? (?:en|por|con|a)|están? en|se guardan? en|debe\w*) \w"
        r"|(?:[\w-]+,? ){0,2}(?:respuestas|explicaciones|comentarios|commits|mensajes|nombres|funciones"
        r"|resúmenes|frases|tests)(?: [\w-]+){0,3},? (?:porfa|por favor|solo|únicamente)\b"
        r"|l[oa]s [\w-]+(?: [\w-]+)? (?:se \w+|son|van|quedan)(?: [\w-]+){0,2}, (?:no|nunca) [\w -]{2,30}\W*$"
        r"|l[oa]s [\w-]+ (?:van|viven|se guardan|se ponen) (?:junto|en|con|dentro|al lado) \w"
        r"|(?:preferimos|evitamos|priorizamos|escribimos|guardamos|nombramos|indentamos|tratamos) (?!el |la "
        r"|es[oe]|est[eo]|l[oa]s )\w"
        r"|(?:trata|considera)(?:mos)? l[oa]s [\w-]+ como \w|(?:mensajes|commits|comentarios|respuestas"
        r"|documentación) (?:de \w+ )?en \w+\W*$|"
        r"(?:nuestra|la) (?:[\w-]+ ){0,2}(?:convención|regla|política|norma)(?: es|:)|(?:longitud"
        r"|tamaño|ancho|[\w']+) máxim[oa](?: de [\w]+)?(?: es(?: de)?|:)? ?\d+"
        r"|[\w'-]+(?: [\w'-]+){0,3} (?:solo|sólo|únicamente) en [\w' -]{2,30}(?:, por favor)?\W*$"
        r"|cada [\w'-]+ (?:necesita|debe|tiene|lleva)|(?:los|las) [\w'-]+(?: [\w'-]+)? (?:van"
        r"|se guardan|se ponen|se arreglan)\b"
        r"|aquí (?:los|las|no|se) \w|todo el código nuevo|(?!(?:reinicia|pon|haz"
        r"|arregla)\b)[\w.+#'-]+(?: [\w.+#'-]+){0,4} (?:en lugar de|en vez de) (?!esperar"
        r"|explicar)[\w.+#-]+[^?\u00bf]{0,30}$"
        r"|mejor [\w.+#-]+(?: para [\w.+#-]+)?\W*$|[\w.+#-]+ para (?:el |la |los "
        r"|las )?[\w.+#-]+,? no [\w.+#-]+\W*$|\w+ \w+,? no \w+\W*$|(?:los "
        r"|las )?\w+ en \w+(?:, por favor)?\W*$"
        r"|\w+ \w+ a partir de ahora|[\w.+#-]+ (?:sustituye|reemplaza) a [\w.+#-]+"
        r"|[\w.+#-]+ para \w+\W*$|nada se \w+|sin (?:mi|nuestra) \w+ no se \w"
    ),
    habits=words(
        "toca toque modifica edita usa use usad usar mantén mantener mantenga pon escribe escriba escribir responde"
        " responda responder prefiere prefiera evita evite"
        " pregunta pregúntame limita limite nombra nombre indenta indente explica explique"
        " muestra muéstrame enseña enséñame trata"
        " trate ejecuta ejecute haz documenta cita envía guarda formatea deja"
    ),
    styles=words(
        "usa use usad usar escribe responde responda prefiere prefiera evita evite indenta indente nombra limita trata"
    ),
    actions=words("añade prueba comprueba borra crea lee busca sube despliega avisa espera pide"),
    asked=form(
        r"(?:puedes|podrías|podríamos|podemos|deberíamos|qué|por qué|cómo|cuál|quién|dónde|cuándo"
        r"|has|hemos visto|es posible)\b(?!.*\bvolver a\b)(?!.*\bya\b)"
    ),
    told=form(
        r"(?:quizás?|tal vez|a lo mejor|supongamos|imaginemos|si usáramos|si \w+áramos|según|ayer"
        r"|algunos|hay quien|alguien|veamos|yo (?:nunca|no)|creo|supongo|me pregunto|no sé"
        r"|no entiendo"
        r"|nunca entendí|(?:él |ella )?dijo|(?:mi|el|la|un) \w+ (?:me dijo|dice|se queja|afirma"
        r"|quería|pidió|propuso|ya no (?:responde|tropieza))|en mi último|debes estar bromeando"
        r"|el test debe)"
    ),
    told_within=form(r"\b(?:algún día|qué opinas|y tú|es una tontería|cuánto costaría|debe haber)\b"),
    task=form(
        r"(?:escribe|implementa|arregla|crea|añade|construye|haz|desarrolla|genera|renombra|borra"
        r"|elimina|mueve|reemplaza|sustituye|cambia|muéstrame|traduce|corrige|pon|abre) "
        r"(?:un|una|el|la|este|esta|mi|cómo)\b"
    ),
    relative=form(r"(?::|\b(?:que|para que|donde|cuyo|cuya)\b)"),
    one_thing=form(
        r"(?:esto|eso|(?:la|el|esta|este) (?:función|método|test|prueba|script|analizador|clase"
        r"|comando|botón|consulta|resultado|salida|archivo|página|lista"
        r"|bucle|variable|valor|campo)) "
    ),
    once=form(
        r"\b(?:por ahora|de momento|por el momento|esta vez|hoy|todavía no|aún no)\b|\b(?:para"
        r"|en) (?:este|esta) (?:único )?"
        r"(?:test|prueba|commit|ejemplo|caso|rama|archivo|función|paso|tarea|ticket)\b"
    ),
    pointed=form(r"^\W*(?:lo|la|eso|esto)\b|^\W*\w+ (?:eso|esto)\b|^\W*\w+(?:[áéí]\w+)l[oa]s?\b"),
    specific=form(r"\b(?:el|la|este|esta|ese|esa|estos|estas|un|una|mi|eso|esto)\b"),
    determined=form(r"\w+ (?:el|la|los|las|este|esta|un|una|mi)\b"),
    purpose=form(r"\s(?:para|como|en|donde|por|según)\s"),
    turned=form(
        r"(?:(?:no|ok|vale|bueno|m+|h+m+|eh|ah|espera|perdón|en realidad|al final)[,.! ]+){0,3}"
        r"(?:(?:volvemos|vuelve|volvamos|volver|regresa|regresamos|de vuelta) (?:a|al)|mejor|más bien"
        r"|en realidad,?|al final,?"
        r"|(?:no|m+|h+m+|espera|perdón)[,.!]+)"
        r" (?P<what>(?:los |las )?(?!(?:el|la|un|una|este|esta|mi|no|nada)\b)[\w.+#-]+(?: [\w.+#-]+){0,2}?)"
        r"(?: (?:porfa|por favor|entonces|otra vez|de nuevo))*\W*$"
    ),
    heading=form(
        r"(?:nosotros|en este (?:repo|proyecto)|este (?:repo|proyecto|código)|nuestr[oa]s?|todo|mantengamos)\b"
    ),
    change=form(
        r"\b(?:en realidad|mejor|en lugar de|en vez de|pensándolo mejor|cambio de planes"
        r"|cambiado de opinión|ya no|a partir de ahora|desde ahora|pasado de|pasamos a|migrado"
        r"|cambiemos"
        r"|reemplacemos|sustituye|de nuevo|otra vez|ahora|al final|olvida|olvídalo|es historia|descarta\w*)\b"
    ),
    instead=form(r"\ben su lugar\b|\bmejor\b"),
    withdrawn=form(
        rf"(?:puedes )?(?:olvida|ignora|anula|retira|revoca|quita|revertimos"
        rf"|olvidad)\b(?=.*(?:\b{_RULE_NOUN}\b|\blo que dije\b))"
        rf"|(?:la|el|las|los|esa|ese) {_RULE_NOUN}\b(?=.*\b(?:anulad[oa]s?|retirad[oa]s?"
        rf"|ya no se aplica\w*|eliminad[oa]s?|sin efecto)\b)"
        r"|ya no (?:hace falta|es necesario|hay que|tienes que|necesitas|debes|tienen que)\b"
        r"|.{2,60}\bya no (?:son|es|están?) (?:obligatori|necesari|requerid)\w+"
        r"|.{2,60}\bya no (?:debe[n]?|tienen? que|necesitan?|hace falta)\b|deja de \w+"
        r"|he cambiado de (?:opinión|idea) (?:con|sobre|en) \w|no más \w"
    ),
    unnamed=form(
        r"olvídalo\b|olvida (?:eso|esto)\b|he cambiado de (?:opinión|idea)\b(?! (?:con|sobre|en)\b)"
        r"|cambio de planes\b"
    ),
    sweeping=_SWEEPING,
    passed_on=_PASSED_ON,
    said_myself=_SAID_MYSELF,
    dropped=(
        form(
            rf"(?:olvida|descarta|quita|elimina|abandona|abandonemos|abandonamos|dejemos|dejamos"
            rf"|descartamos|descartemos|quitamos|quitemos|eliminamos|tiramos|sacamos|retiramos|jubilamos"
            rf"|hemos (?:abandonado|dejado|descartado|quitado|eliminado|tirado|retirado)|(?:al final )?nada de"
            rf"|no más) {_NAME}"
        ),
        form(r"([\w.+#-]+(?: [\w.+#-]+)?) (?:queda descartado|es historia|ya es historia|está descartado)\b"),
        form(
            r"([\w.+#-]+(?: [\w.+#-]+)?) (?:queda fuera|queda descartad\w+|se acabó|ha muerto|está muerto"
            r"|fue un error|era un error"
            r"|ya no va|está fuera|era demasiado|fuera)\b"
        ),
        form(r"([\w.+#-]+(?: [\w.+#-]+)?) ?(?:->|=>|\u2192) ?[A-Za-z][\w.+#-]*(?=$|[,.;:! ])"),
        form(r"(?:cambia|cambiamos|cambiemos|sustituye|reemplaza|sustituimos) ([\w.+#-]+) por "),
        form(r"(?:ya )?(?:hemos terminado|se acabó|terminamos) con ([\w.+#-]+)"),
        form(r"(?:al final )?(?:ya )?no (?:usaremos|usamos|vamos a usar) ([\w.+#-]+)"),
        form(r"hemos (?:reemplazado|sustituido) (?:a )?([\w.+#-]+) (?:por|con)"),
        form(r"(?:reemplacemos|sustituyamos|reemplazamos|sustituimos) (?:a )?([\w.+#-]+) (?:por|con)"),
        form(r"[\w.+#-]+ (?:sustituye|reemplaza) a ([\w.+#-]+)"),
        form(
            r"(?:nos hemos pasado|hemos (?:migrado|pasado|cambiado)|pasamos|migramos|cambia|migra"
            r"|cambiemos|pasemos) (?:[\w]+ ){0,3}?de ([\w.+#-]+) (?:a|al)\b"
        ),
    ),
    permitted=form(
        r"(?:ya |ahora )?(?:puedes|podéis|podemos|pueden)\b(?=.*\b(?:ya|ahora|de nuevo|otra vez"
        r"|volver a)\b)|(?:ya|ahora) (?:sí )?(?:puedes|podéis|podemos|se permiten?|se puede)\b"
        r"|.{2,60}\b(?:es|son|están?) (?:ahora |ya )?(?:permitid\w+|autorizad\w+|bien de nuevo|ok otra vez)\b"
        r"|.{2,60}\bvuelven? a (?:ser|estar) \w+|.{2,40}\b(?:ya )?se pueden? \w+ (?:otra vez|de nuevo)\b"
        r"|vale, ahora puedes"
    ),
    about=form(
        rf"\b{_RULE_NOUN}\b|\b(?:lo que dije|sobre|contra|anulad\w+|queda|aplica|permitid\w+"
        rf"|permiten?|autorizad\w+|obligatori\w+|necesari\w+|hace falta|olvida|ignora|revertimos"
        rf"|deja|ejecutar|volver|después de todo"
        r"|tienes|necesitas|cambiado|opinión|idea|más|vuelven?|estar)\b"
    ),
    rule_noun=form(rf"\b{_RULE_NOUN}\b"),
    rejected=(
        form(
            r"(?:en lugar de|en vez de)\s*(?:los? |las? |el )?((?:(?!(?:para|usamos|por|vamos"
            r"|arregla)\b)[\w.+#-]+\s*){1,2})"
        ),
        form(r"\bmejor [\w.+#-]+ que ([\w.+#-]+)"),
        form(r"\bno ([\w.+#-]+)(?=\s*[.!]?$|,)"),
    ),
    chosen=(
        form(
            r"\b(?:us[ae]|usar|usemos|usamos|usaremos|vamos con|cambiemos a|pasamos a|sigamos con"
            r"|seguimos con|elegimos|decidimos usar|decidido usar|apostamos por|nos quedamos con"
            r"|prefiere)(?: mejor)? "
            r"(?P<what>(?!(?:el|la|los|las|un|una|este|esta)\b)[\w.+#-]+(?: (?!para"
            r"|como)[\w.+#-]+)?)(?: (?:para|como) (?P<purpose>(?:[\w'-]+ ?){1,4}))?"
        ),
    ),
    scopes=words("códig proyect repositori archiv sesión tod función clas test"),
    rivals=tuple(
        words(group)
        for group in (
            "tabulador espaci",
            "métric imperial",
            "simpl dobl",
            "camelcas snake_cas kebab-cas pascalcas",
            "npm yarn pnpm bun",
            "pip poetry uv cond",
            "pytest unittest nos",
            "merg rebas squash",
            "español inglé alemán francé italian chin",
            "formal informal",
            "breve brev larg detall",
        )
    ),
    topics=words("indent unidad comill nombr paquet idiom respuest respond"),
    stop=words(
        "el la los las un una unos unas de del y o es son era no ni nunca jamás más en sobre"
        " para por con sin que quien cual al lo se este"
        " esta estos estas esto ese esa eso yo tú él ella nosotros me te nos mi tu su nuestro"
        " nuestra si pero porque cuando como todo toda todos"
        " todas cada nada siempre debe debes deben debemos hay ya a hemos he ahora lugar vez"
        " mejor usa use usar usamos usemos usaremos uses vamos"
        " puede puedes pueden solo sólo aquí favor sigamos sea ser está están muy final realidad"
        " proyecto repositorio máximo donde tenga"
        " partir otra otro otras otros nuevo sentido antes después desde sí hace elegimos elegir"
        " decidimos decidido seguimos tener"
        " tiene tienen nuevo quedamos da"
    ),
    enclitic=form(r"(?:me|nos|lo|la|les)$"),
    alike=(("qu", "c"), ("gu", "g"), ("j", "g")),
    suffixes=(
        "amientos",
        "amiento",
        "aciones",
        "ación",
        "iendo",
        "ando",
        "arse",
        "erse",
        "idas",
        "adas",
        "idos",
        "ados",
        "ida",
        "ada",
        "ido",
        "ado",
        "arme",
        "ame",
        "eme",
        "enme",
        "aciones",
        "arse",
        "ar",
        "er",
        "ir",
        "as",
        "es",
        "os",
        "a",
        "e",
        "o",
        "s",
    ),
    usage=USAGE,
)
