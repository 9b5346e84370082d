"""Spanish."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.rules.forms import Forms, form, words

_SCOPE = (
    r"(?:(?:a partir|desde|de) (?:de )?ahora(?: en adelante)?|de aqu\u00ed en adelante|en adelante|en el futuro|cada vez|como regla general|por regla general"
    r"|(?:en|para) (?:este|esta|nuestro|todo el) (?:repositorio|proyecto|repo|c\u00f3digo|sesi\u00f3n|conversaci\u00f3n)|por defecto|bajo ning\u00fan concepto|en ning\u00fan caso"
    r"|sin excepci\u00f3n|durante el resto)"
)
_RULE_NOUN = r"(?:reglas?|instrucci\u00f3n|instrucciones|restricci\u00f3n|l\u00edmite|decisi\u00f3n|convenci\u00f3n|norma|normas|requisito|directriz)"
_ALWAYS = r"(?:siempre|nunca|jam\u00e1s|cada vez)"
_NAME = (
    r"((?!(?:el|la|los|las|lo|este|esta|esto|ese|esa|eso|un|una|todo|que|mi|\u00faltimo)\b)[\w.+#-]+(?: [\w.+#-]+){0,2}?)"
    r"(?=$|[,.:;!](?:\s|$)| (?:y|a favor|para|como|a|al|por|ahora|del todo|en|desde)\b)"
)
_VERB = (
    r"(?:us[aeo]|mant[e\u00e9]n|ejecut|toqu|toc|pon|escrib|respond|prefier|evit|pregunt|limit|nombr|indent|expli[cq]|muestr|ens\u00e9\u00f1|hag|haz|modif|borr|a\u00f1ad"
    r"|despli|simul|registr|captur|reformat|trat|env[i\u00ed]|pid|guard|recuerd)\w{0,5}"
)

SPANISH: Final = Forms(
    name="Spanish",
    markers=words(
        "el la los las un una unos de del y o es son era no ni nunca jam\u00e1s m\u00e1s en sobre para por con sin que quien cual al lo se"
        " este esta estos esto ese esa eso yo t\u00fa \u00e9l ella nosotros me te nos mi tu su nuestro nuestra si pero porque cuando como todo"
        " todos todas cada nada siempre debe debes deben debemos hay ya a hemos he ahora lugar vez mejor antes despu\u00e9s usamos uses usa"
        " usemos vamos puede puedes pueden solo s\u00f3lo aqu\u00ed favor sigamos sea"
    ),
    letters=frozenset("\u00f1\u00bf\u00a1\u00f3\u00ed\u00fa\u00e1"),
    lead_in=form(
        r"(?:(?:y|pero|entonces|bueno|vale|ok|s\u00ed|no(?=[,.!;:])|gracias|por cierto|adem\u00e1s|en realidad|de hecho|al final|nota(?: que)?|importante|recuerda(?: que)?"
        r"|recordatorio|por favor|pens\u00e1ndolo mejor|cambio de planes|he cambiado de opini\u00f3n|en general|quiero que|as\u00ed que|mejor|es importante que)(?![\w'-])[\s,.:;!\u2013\u2014-]*)+"
    ),
    scope=form(rf"\b{_SCOPE}\b"),
    opening_scope=form(rf"{_SCOPE}\s*[,:]?\s+"),
    scope_alone=form(rf"{_SCOPE}[.:!]?"),
    clause=form(r"[,;:\u2013\u2014]\s+|\(|\s--?\s|\s(?=(?:y|pero) (?:nunca|siempre|no|jam\u00e1s)\b)"),
    aside=form(r"\s(?:(?:--?|[\u2013\u2014]|porque|ya que|pues|para que)\s|\()"),
    always=form(rf"{_ALWAYS}\s+(?!hay\b|he\b|hubo\b|entend\u00ed\b|falla\b|ten\u00edamos\b|obten\w+)[\w`]"),
    always_we=form(
        rf"^(?:no )?{_VERB} (?:[\w.'`/-]+ ){{0,4}}?{_ALWAYS}\b"
        rf"|\b(?:debe|debes|deben|debemos|hay que|tiene que|tienen que)\b (?:[\w.'`/-]+ ){{0,4}}?{_ALWAYS}\b|\b{_ALWAYS} (?:se )?(?:debe|debes|deben|debemos|hay que)\b"
        rf"|^(?:los|las|todos los|todas las|nuestros|nuestras) (?:[\w'-]+ ){{1,4}}?(?:se \w+|van|son|est\u00e1n|deben) {_ALWAYS}\b|^no se [\w ]{{3,30}}{_ALWAYS}\b|\bno se debe [\w ]{{2,30}}{_ALWAYS}\b"
    ),
    tale=form(
        r"\b(?:ayer|nunca escribi\u00f3|nunca entend\u00ed|nunca hay|ten\u00edamos|obten\u00edamos|era|eran|fue|fueron|hab\u00eda|siempre falla|siempre ten\w+|el a\u00f1o pasado"
        r"|anterior nunca|el \w+ antiguo pas\u00f3)\b"
    ),
    forbid=form(
        r"no (?:me |te |lo |la |los |las |se )?(?!hay|es|est\u00e1|s\u00e9|hace falta|tengo|ten\u00eda|funciona|puedo|entiendo|importa|te preocupes|preocupes|olvides|pasa|dudes)"
        r"(?:\w+es|\w+as|\w+ar|\w+er|\w+ir|uses|toques|hagas|a\u00f1adas|modifiques|captures)\b(?! preocup)|nada de \w|ning\u00fan\w* \w|evit(?:a|e|ar|emos) \w|deja de \w"
        r"|no (?:usamos|usemos|queremos|hacemos|soportamos|permitimos)\b|sin (?:mi|nuestra) \w+ no\b|sin \w+(?=,? por favor|\W*$)"
    ),
    forbid_we=form(
        r"\bno (?:se )?(?:debe[ns]?|puede[ns]?|debemos|podemos) (?!haber|saber)\w|\b(?:est\u00e1n?|queda) prohibid\w+|\bno quiero (?!decir)\w|\bnada (?:[\w']+ ){0,5}(?:puede|debe)\b"
        r"|\bno (?:se )?(?:despliega|toca|modifica|borra) nada\b"
    ),
    no_kind=form(r"(?:nada de|ning\u00fan|ninguna|sin) (?!problema|duda|error|idea|embargo)[\w.'-]+(?!.*\b(?:encontr\w+|queda|es|son|era)\b).*"),
    abandoned=form(r"ya no (?:usamos|guardamos|queremos|hacemos|seguimos|soportamos|escribimos|uso|usaremos)\b|.{2,40} ya no (?:usamos|guardamos|queremos|hacemos)\b"),
    negative=form(r"\b(?:nunca|jam\u00e1s|prohibid\w+|evita\w*|bajo ning\u00fan concepto)\b"),
    condition=form(r"(?:cuando|antes de|despu\u00e9s de|tras|si|siempre que|cada vez que) (?:\w+)"),
    order_after_condition=form(r"(?:debes|tienes que|hay que)\b"),
    kind=form(
        r"\b(?:siempre|nunca|cada|todos|todas|todo el c\u00f3digo nuevo|solo|s\u00f3lo|\u00fanicamente|solamente|en lugar de|en vez de|como m\u00e1ximo|m\u00e1ximo|como m\u00ednimo"
        r"|en todas partes|siempre que|si es posible|exclusivamente|por debajo de|menos de \d+|antes de|despu\u00e9s de cada|cuando cambies)\b"
    ),
    weak_kind=form(r"\b(?:no|sin|ning\u00fan\w*)\b"),
    each=form(r"\b(?:cada|antes de|cuando \w+es|despu\u00e9s de cada|todas? l[oa]s)\b"),
    owed=form(r"\b(?:debe|deben|tienen? que|necesitan?|hay que)\b"),
    owed_kind=form(r"(?:todos|todas|cada|todo|los|las|nuestros|nuestras) (?!dos\b)"),
    owed_bare=form(r"(?:debe|hay que|tiene que) (?!haber|ser una broma)(?:no |siempre )?\w+ \w|nunca debemos \w"),
    decided=form(
        r"(?:hemos|nos hemos|he) (?:decidido|elegido|acordado|optado|pasado de|migrado de|abandonado)\b|(?:decidimos|acordamos|elegimos|optamos por|apostamos por|dejamos)\b"
        r"|(?:al final )?(?:vamos con|nos quedamos con|seguimos con|seguimos|usamos|usemos|guardamos|escribimos|apuntamos a|soportamos|usaremos|solo soportamos|s\u00f3lo soportamos|sigamos con"
        r"|cambiemos a|pasamos a|pasemos a|reemplacemos|abandonemos|abandonamos|estamos en)\b(?! (?:esto|eso|con el mismo)\b)|prefiero\b(?! que no)|aqu\u00ed (?:no |los |las |se )"
        r"|quiero que (?:cada|todos|todas|siempre)"
    ),
    standing=form(
        r"(?:nuestra|la) (?:[\w-]+ ){0,2}(?:convenci\u00f3n|regla|pol\u00edtica|norma)(?: es|:)|(?:longitud|tama\u00f1o|ancho|[\w']+) m\u00e1xim[oa](?: de [\w]+)?(?: es(?: de)?|:)? ?\d+"
        r"|[\w'-]+(?: [\w'-]+){0,3} (?:solo|s\u00f3lo|\u00fanicamente) en [\w' -]{2,30}$|cada [\w'-]+ (?:necesita|debe|tiene|lleva)|(?:los|las) [\w'-]+(?: [\w'-]+)? (?:van|se guardan|se ponen|se arreglan)\b"
        r"|aqu\u00ed (?:los|las|no|se) \w|todo el c\u00f3digo nuevo|(?!(?:reinicia|pon|haz|arregla)\b)[\w.+#'-]+(?: [\w.+#'-]+){0,4} (?:en lugar de|en vez de) (?!esperar|explicar)[\w.+#-]+[^?\u00bf]{0,30}$"
        r"|mejor [\w.+#-]+(?: para [\w.+#-]+)?\W*$|[\w.+#-]+ para (?:el |la |los |las )?[\w.+#-]+,? no [\w.+#-]+\W*$|\w+ \w+,? no \w+\W*$|(?:los |las )?\w+ en \w+(?:, por favor)?\W*$"
        r"|\w+ \w+ a partir de ahora|[\w.+#-]+ (?:sustituye|reemplaza) a [\w.+#-]+|[\w.+#-]+ para \w+\W*$|nada se \w+|sin (?:mi|nuestra) \w+ no se \w"
    ),
    habits=words(
        "usa use usad usar mant\u00e9n mantener mantenga pon escribe escriba escribir responde responda responder prefiere prefiera evita evite"
        " pregunta preg\u00fantame limita limite nombra nombre indenta indente explica explique muestra mu\u00e9strame ense\u00f1a ens\u00e9\u00f1ame trata"
        " trate ejecuta ejecute haz documenta cita env\u00eda guarda formatea deja"
    ),
    styles=words("usa use usad usar escribe responde responda prefiere prefiera evita evite indenta indente nombra limita trata"),
    actions=words("a\u00f1ade prueba comprueba borra crea lee busca sube despliega avisa espera pide"),
    asked=form(
        r"(?:puedes|podr\u00edas|podr\u00edamos|podemos|deber\u00edamos|qu\u00e9|por qu\u00e9|c\u00f3mo|cu\u00e1l|qui\u00e9n|d\u00f3nde|cu\u00e1ndo|has|hemos visto|est\u00e1|es posible)\b(?!.*\bvolver a\b)(?!.*\bya\b)"
    ),
    told=form(
        r"(?:quiz\u00e1s?|tal vez|a lo mejor|supongamos|imaginemos|si us\u00e1ramos|si \w+\u00e1ramos|seg\u00fan|ayer|algunos|hay quien|alguien|veamos|yo (?:nunca|no)|creo|supongo|me pregunto|no s\u00e9|no entiendo"
        r"|nunca entend\u00ed|(?:\u00e9l |ella )?dijo|(?:mi|el|la|un) \w+ (?:me dijo|dice|se queja|afirma|quer\u00eda|pidi\u00f3|propuso|ya no (?:responde|tropieza))|en mi \u00faltimo|debes estar bromeando|el test debe)"
    ),
    told_within=form(r"\b(?:alg\u00fan d\u00eda|qu\u00e9 opinas|y t\u00fa|es una tonter\u00eda|cu\u00e1nto costar\u00eda|debe haber)\b"),
    task=form(
        r"(?:escribe|implementa|arregla|crea|a\u00f1ade|construye|haz|desarrolla|genera|renombra|borra|elimina|mueve|reemplaza|sustituye|cambia|mu\u00e9strame|traduce|corrige) "
        r"(?:un|una|el|la|este|esta|mi|c\u00f3mo)\b"
    ),
    relative=form(r"(?::|\b(?:que|para que|donde|cuyo|cuya)\b)"),
    one_thing=form(
        r"(?:esto|eso|(?:la|el|esta|este) (?:funci\u00f3n|m\u00e9todo|test|prueba|script|analizador|clase|comando|bot\u00f3n|consulta|resultado|salida|archivo|p\u00e1gina|lista"
        r"|bucle|variable|valor|campo)) "
    ),
    once=form(
        r"\b(?:por ahora|de momento|por el momento|esta vez|hoy|todav\u00eda no|a\u00fan no)\b|\b(?:para|en) (?:este|esta) (?:\u00fanico )?"
        r"(?:test|prueba|commit|ejemplo|caso|rama|archivo|funci\u00f3n|paso|tarea|ticket)\b"
    ),
    pointed=form(r"^\W*(?:lo|la|eso|esto)\b|^\W*\w+ (?:eso|esto)\b|^\W*\w+(?:[\u00e1\u00e9\u00ed]\w+)l[oa]s?\b"),
    specific=form(r"\b(?:el|la|este|esta|ese|esa|estos|estas|un|una|mi|eso|esto)\b"),
    determined=form(r"\w+ (?:el|la|los|las|este|esta|un|una|mi)\b"),
    purpose=form(r"\s(?:para|como|en|de|donde|por|seg\u00fan|a)\s"),
    change=form(
        r"\b(?:en realidad|mejor|en lugar de|en vez de|pens\u00e1ndolo mejor|cambio de planes|cambiado de opini\u00f3n|ya no|a partir de ahora|desde ahora|pasado de|pasamos a|migrado|cambiemos"
        r"|reemplacemos|sustituye|de nuevo|otra vez|ahora|al final|olvida|olv\u00eddalo|es historia|descarta\w*)\b"
    ),
    withdrawn=form(
        rf"(?:puedes )?(?:olvida|ignora|anula|retira|revoca|quita|revertimos|olvidad)\b(?=.*(?:\b{_RULE_NOUN}\b|\blo que dije\b))"
        rf"|(?:la|el|las|los|esa|ese) {_RULE_NOUN}\b(?=.*\b(?:anulad[oa]s?|retirad[oa]s?|ya no se aplica\w*|eliminad[oa]s?|sin efecto)\b)"
        r"|ya no (?:hace falta|es necesario|hay que|tienes que|necesitas|debes|tienen que)\b|.{2,60}\bya no (?:son|es|est\u00e1n?) (?:obligatori|necesari|requerid)\w+"
        r"|.{2,60}\bya no (?:debe[n]?|tienen? que|necesitan?|hace falta)\b|deja de \w+"
    ),
    unnamed=form(r"olv\u00eddalo\b|olvida (?:eso|esto)\b|he cambiado de opini\u00f3n\b|cambio de planes\b"),
    dropped=(
        form(rf"(?:olvida|descarta|quita|elimina|abandona|abandonemos|abandonamos|dejemos|dejamos|descartamos|descartemos|hemos abandonado|hemos dejado) {_NAME}"),
        form(r"([\w.+#-]+(?: [\w.+#-]+)?) (?:queda descartado|es historia|ya es historia|est\u00e1 descartado)\b"),
        form(r"(?:al final )?(?:ya )?no (?:usaremos|usamos|vamos a usar) ([\w.+#-]+)"),
        form(r"(?:reemplacemos|sustituyamos|reemplazamos|sustituimos) (?:a )?([\w.+#-]+) (?:por|con)"),
        form(r"[\w.+#-]+ (?:sustituye|reemplaza) a ([\w.+#-]+)"),
        form(r"(?:nos hemos pasado|hemos (?:migrado|pasado|cambiado)|pasamos|migramos|cambia|migra|cambiemos|pasemos) (?:[\w]+ ){0,3}?de ([\w.+#-]+) (?:a|al)\b"),
    ),
    permitted=form(
        r"(?:ya |ahora )?(?:puedes|pod\u00e9is|podemos|pueden)\b(?=.*\b(?:ya|ahora|de nuevo|otra vez|volver a)\b)|(?:ya|ahora) (?:s\u00ed )?(?:puedes|pod\u00e9is|podemos|se permiten?|se puede)\b"
        r"|.{2,60}\b(?:es|son|est\u00e1n?) (?:ahora |ya )?(?:permitid\w+|autorizad\w+)\b|vale, ahora puedes"
    ),
    about=form(
        rf"\b{_RULE_NOUN}\b|\b(?:lo que dije|sobre|contra|anulad\w+|queda|aplica|permitid\w+|permiten?|autorizad\w+|obligatori\w+|necesari\w+|hace falta|olvida|ignora|revertimos|deja|ejecutar|volver|despu\u00e9s de todo"
        r"|tienes|necesitas)\b"
    ),
    rule_noun=form(rf"\b{_RULE_NOUN}\b"),
    rejected=(
        form(r"(?:en lugar de|en vez de)\s*(?:los? |las? |el )?((?:(?!(?:para|usamos|por|vamos|arregla)\b)[\w.+#-]+\s*){1,2})"),
        form(r"\bno ([\w.+#-]+)(?=\s*[.!]?$|,)"),
    ),
    chosen=(form(
        r"\b(?:us[ae]|usar|usemos|usamos|usaremos|vamos con|cambiemos a|pasamos a|sigamos con|seguimos con|elegimos|decidimos usar|decidido usar|apostamos por|nos quedamos con|prefiere)(?: mejor)? "
        r"(?P<what>(?!(?:el|la|los|las|un|una|este|esta)\b)[\w.+#-]+(?: (?!para|como)[\w.+#-]+)?)(?: (?:para|como) (?P<purpose>(?:[\w'-]+ ?){1,4}))?"
    ),),
    scopes=words("c\u00f3dig proyect repositori archiv sesi\u00f3n tod funci\u00f3n clas test"),
    rivals=tuple(
        words(group)
        for group in (
            "tabulador espaci",
            "m\u00e9tric imperi",
            "simpl dobl",
            "camelcas snake_cas kebab-cas pascalcas",
            "npm yarn pnpm bun",
            "pip poetry uv cond",
            "pytest unittest nos",
            "merg rebas squash",
            "espa\u00f1ol ingl\u00e9 alem\u00e1n franc\u00e9 italian chin",
            "formal informal",
        )
    ),
    topics=words("indent unidad comill nombr paquet idiom respuest respond"),
    stop=words(
        "el la los las un una unos unas de del y o es son era no ni nunca jam\u00e1s m\u00e1s en sobre para por con sin que quien cual al lo se este"
        " esta estos estas esto ese esa eso yo t\u00fa \u00e9l ella nosotros me te nos mi tu su nuestro nuestra si pero porque cuando como todo toda todos"
        " todas cada nada siempre debe debes deben debemos hay ya a hemos he ahora lugar vez mejor usa use usar usamos usemos usaremos uses vamos"
        " puede puedes pueden solo s\u00f3lo aqu\u00ed favor sigamos sea ser est\u00e1 est\u00e1n muy final realidad proyecto repositorio m\u00e1ximo donde tenga"
        " sentido antes despu\u00e9s desde s\u00ed hace elegimos elegir decidimos decidido seguimos tener tiene tienen nuevo quedamos da"
    ),
    alike=(("qu", "c"), ("gu", "g"), ("j", "g")),
    suffixes=("amientos", "amiento", "aciones", "aci\u00f3n", "iendo", "ando", "arse", "erse", "idas", "adas", "idos", "ados", "ida", "ada", "ido", "ado", "arme", "arse", "ar", "er", "ir", "as", "es", "os", "a", "e", "o", "s"),
)
