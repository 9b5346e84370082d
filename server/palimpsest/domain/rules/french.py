"""French."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.rules.forms import Forms, form, words

_SCOPE = (
    r"(?:\u00e0 partir de maintenant|\u00e0 partir d'aujourd'hui|d\u00e9sormais|dor\u00e9navant|\u00e0 l'avenir|\u00e0 chaque fois|en r\u00e8gle g\u00e9n\u00e9rale"
    r"|(?:dans|pour) (?:ce|cette|notre|tout le) (?:d\u00e9p\u00f4t|projet|repo|code|session|conversation)|par d\u00e9faut|en aucun cas|sans exception"
    r"|sous aucun pr\u00e9texte|pour le reste de)"
)
_RULE_NOUN = r"(?:r\u00e8gle|consigne|contrainte|limite|d\u00e9cision|convention|instruction|restriction|exigence)s?"
_ALWAYS = r"(?:toujours|jamais|syst\u00e9matiquement|\u00e0 chaque fois)"
_NAME = (
    r"((?!(?:le|la|les|l'|ce|cette|ces|un|une|des|\u00e7a|cela|tout|la derni\u00e8re|pas)\b)[\w.+#-]+(?: [\w.+#-]+){0,2}?)"
    r"(?=$| ?[,.:;!](?:\s|$)| (?:et|en faveur|pour|comme|\u00e0|au|par|vers|maintenant|finalement|compl\u00e8tement|dans)\b)"
)
_VERB = (
    r"(?:utilis|gard|lanc|touch|mett|met|\u00e9cri|r\u00e9pond|pr\u00e9f\u00e8r|pr\u00e9f\u00e9r|\u00e9vit|demand|limit|nomm|indent|explique?|montr|prend|pren|committ?|modifi"
    r"|supprim|ajout|d\u00e9ploi|simul|journalis|attrap|reformat|formatt?|pouss|forc|tutoi|vouvoi|r\u00e9dig|envoi)\w{0,4}"
)

FRENCH: Final = Forms(
    name="French",
    markers=words(
        "le la les un une des du de et ou est sont \u00e9tait ne pas jamais plus dans sur pour par avec sans que qui dont au aux ce"
        " cette ces \u00e7a cela je tu il elle on nous vous ils elles moi te me mon ton son notre votre nos si mais donc car quand"
        " comme tout tous toutes chaque rien toujours doit dois doivent faut fait l d n s qu j c m t en \u00e0 y veux peut peux"
        " aucun aucune d\u00e9sormais maintenant lieu place plut\u00f4t avant apr\u00e8s passons prenons restons chez"
    ),
    letters=frozenset("\u00e8\u00ea\u00e7\u00e0\u00f9\u00ee\u00f4\u00fb\u0153"),
    lead_in=form(
        r"(?:(?:et|mais|donc|alors|bon|ok|d'accord|oui|non(?=[,.!;:])|merci(?: de)?|au fait|par ailleurs|en fait|finalement|note[rz]?(?: que)?"
        r"|important|rappel|rappelle-toi|rappelez-vous|souviens-toi|n'oublie pas(?: que)?|s'il (?:te|vous) pla\u00eet|tout compte fait"
        r"|changement de plan|j'ai chang\u00e9 d'avis|en g\u00e9n\u00e9ral|je veux que tu|il est important de)(?![\w'-])[\s,.:;!\u2013\u2014-]*)+"
    ),
    scope=form(rf"\b{_SCOPE}\b"),
    opening_scope=form(rf"{_SCOPE}\s*[,:]?\s+"),
    scope_alone=form(rf"{_SCOPE}[.:!]?"),
    clause=form(r" ?[,;:\u2013\u2014]\s+|\(|\s--?\s|\s(?=(?:et|mais) (?:ne |n')?(?:jamais|toujours|surtout)\b)"),
    aside=form(r"\s(?:(?:--?|[\u2013\u2014]|car|parce que|afin|puisque)\s|\()"),
    always=form(rf"{_ALWAYS}\s+(?!vu\b|eu\b|su\b|compris\b)[\w`]|(?:ne |n')(?:jamais|plus jamais) \w"),
    always_we=form(
        rf"^{_VERB}(?:-\w+)? (?:[\w.'`/-]+ ){{0,3}}?{_ALWAYS}\b"
        rf"|\b(?:dois|doit|doivent|faut|devons|devez)\b (?:[\w.'`/-]+ ){{0,4}}?{_ALWAYS}\b"
        rf"|^(?:les|toutes|tous|chaque|notre|nos) (?:[\w'-]+ ){{1,3}}?(?:vont|sont|doivent|restent|va|est|se) {_ALWAYS}\b"
        rf"|^(?:on|nous|tu) (?:n'|ne |l')?[\w'-]+ {_ALWAYS} (?!eu|vu)\w"
    ),
    tale=form(
        r"\b(?:hier|avait|avaient|\u00e9tait|\u00e9taient|avions|a toujours|ont toujours|n'a jamais|n'ont jamais|n'ai jamais|devait|devions|a d\u00fb"
        r"|il n'y a jamais|la derni\u00e8re fois)\b|^(?:\u00e7a|cela|il|elle) (?!faut)\w+ (?:toujours|jamais)\b"
    ),
    forbid=form(
        r"(?:ne |n')(?!importe|est|ont|a |ai |y |h\u00e9site|t'inqui\u00e8te)(?:pas |jamais |rien )?(?:me |te |nous |le |la |les |l')?[\w-]+ (?:pas|jamais|rien|que|plus|aucun\w*|nulle part|\u00e0 rien)\b"
        r"|(?:ne|n') ?(?:pas|jamais) \w|\u00e9vite[rz]?(?:ons)? \w|arr\u00eate[rz]? d|pas d(?:e |'|es )(?!probl\u00e8me|souci|id\u00e9e)\w"
        r"|sans (?:mon|ma|notre) [\w]+,? rien\b"
    ),
    forbid_we=form(
        r"\b(?:ne doi(?:t|vent|s)|ne devons|ne faut|ne peu(?:t|vent)) (?:pas|jamais|plus jamais|en aucun cas)\b|\b(?:est|sont) (?:interdit\w*|hors limites|tabou)\b(?!.*\?)"
        r"|\bje ne veux (?:pas|plus|aucun\w*)\b|\bon ne \w+ (?:que|pas|jamais)\b|\bon n'\w+ (?:que|pas|jamais)\b(?! (?:eu|pu)\b)|\brien (?:[\w']+ ){0,4}ne (?:doit|peut)\b"
    ),
    no_kind=form(r"(?:pas d(?:e |')|aucune? |jamais d(?:e |'))(?!probl\u00e8me|souci|id\u00e9e|erreur)[\w.'-]+(?!.*\b(?:trouv\u00e9|reste|est|sont|\u00e9tait)\b).*"),
    abandoned=form(r"(?:on|nous|je) (?:ne |n')[\w'-]+(?: \w+)? plus\b(?! besoin)"),
    negative=form(r"\b(?:jamais|n'\w+ pas|interdit\w*|\u00e9vite\w*|en aucun cas)\b"),
    condition=form(r"(?:quand|lorsque|lorsqu'|avant (?:de|toute?|chaque)|apr\u00e8s (?:chaque|avoir)|si|d\u00e8s que|chaque fois que) ?(?:tu|on|nous|vous|un\w?|\w+er\b|\w+)"),
    order_after_condition=form(r"(?:tu|il|on) (?:dois|faut|doit)\b"),
    kind=form(
        r"\b(?:toujours|jamais|chaque|tous|toutes|tout nouveau|uniquement|seulement|plut\u00f4t que|au lieu d|au plus|maximum|au minimum|partout"
        r"|si possible|exclusivement|moins de \d+|sous \d+|avant d|apr\u00e8s chaque|quand tu)"
    ),
    weak_kind=form(r"\b(?:pas|sans|aucun\w*)\b"),
    each=form(r"\b(?:chaque|avant (?:de|d'|toute?)|quand tu|apr\u00e8s chaque|\u00e0 chaque)"),
    owed=form(r"\b(?:doi(?:t|vent)|faut|a besoin|ont besoin)\b"),
    owed_kind=form(r"(?:tous|toutes|chaque|tout|les|nos) (?!deux\b)"),
    owed_bare=form(r"(?:doit|il faut|devra) (?!plaisanter|y avoir)(?:ne pas |toujours |encore )?(?:\w+) \w|il ne faut (?:jamais|pas) \w"),
    decided=form(
        r"(?:on|nous) (?:(?:a|avons) (?:d\u00e9cid\u00e9|choisi|opt\u00e9|convenu|retenu)|s'est mis d'accord|nous sommes mis d'accord|part(?:ons)?(?: finalement)? sur|mise sur|utilise|utilisons|prend|prenons|garde"
        r"|reste|suit|suivons|vise|visons|supporte|stocke|\u00e9crit|est pass\w* d|a migr\u00e9|avons (?:quitt\u00e9|migr\u00e9)|est sur)\b(?! (?:\u00e7a|cela|le m\u00eame|ce)\b)"
        r"|on est pass\w+ d|nous (?:suivons|utilisons|visons)|(?:prenons|utilisons|restons sur|passons \u00e0|gardons|adoptons|partons sur|rempla\u00e7ons|abandonnons)\b(?! (?:\u00e7a|cela)\b)"
        r"|je pr\u00e9f\u00e8re\b(?! (?:\u00e7a|que tu ne))|chez nous,? |je veux (?:que (?:chaque|tous|toutes)|toujours)"
    ),
    standing=form(
        r"(?:notre|la) (?:[\w-]+ ){0,2}(?:convention|r\u00e8gle|politique)(?: est|\s?:)|(?:longueur|taille|largeur|[\w']+)(?: de \w+)? max(?:imale|imum)?(?: est(?: de)?|\s?:)? ?\d+"
        r"|[\w'-]+(?: [\w'-]+){0,3} (?:en|dans) [\w' -]{2,30} (?:uniquement|seulement)\b|chaque [\w'-]+ (?:a besoin|doit|re\u00e7oit|contient)"
        r"|les [\w'-]+(?: [\w'-]+)? (?:vont|restent|se mettent) (?:dans|\u00e0 c\u00f4t\u00e9|sous)|(?:chez nous|ici),? (?:les|on|tous|toutes)\b"
        r"|(?!(?:red\u00e9marre|mets|rends|corrige)\b)[\w.+#'-]+(?: [\w.+#'-]+){0,4} (?:au lieu de|plut\u00f4t que|\u00e0 la place de) (?:des? |d'|les? )?(?!attendre)[\w.+#-]+[^?]{0,30}$"
        r"|[\w.+#-]+ \u00e0 la place\W*$|des [\w-]+(?: [\w-]+)? (?:\u00e0 partir de maintenant|pour \w+|, pas \w+)\W*$|des \w+ \w+,? pas \w+\W*$"
        r"|[\w.+#-]+ pour (?:le |la |les |l')?[\w.+#-]+,? pas [\w.+#-]+\W*$|(?:les|des) \w+ (?:en|au) \w+(?: s'il (?:te|vous) pla\u00eet)?\W*$|ruff remplace\b|[\w.+#-]+ remplace [\w.+#-]+"
        r"|sans (?:mon|ma|notre) [\w]+,? (?:rien|aucun)|(?:les )?commentaires en \w+|tout nouveau code"
    ),
    habits=words(
        "utilise utilisez utiliser garde gardez mets mettez \u00e9cris \u00e9crivez \u00e9crire r\u00e9ponds r\u00e9pondez pr\u00e9f\u00e8re pr\u00e9f\u00e9rez \u00e9vite \u00e9vitez demande"
        " demandez limite limitez nomme nommez indente indentez explique expliquez montre montrez prends prenez prendre tutoie tutoyez vouvoie"
        " lance lancez traite appelle commence termine cite formate r\u00e9dige r\u00e9digez fusionne envoie documente laisse"
    ),
    styles=words(
        "utilise utilisez utiliser \u00e9cris \u00e9crivez r\u00e9ponds r\u00e9pondez pr\u00e9f\u00e8re pr\u00e9f\u00e9rez \u00e9vite \u00e9vitez indente indentez nomme prends prenez limite"
        " tutoie vouvoie r\u00e9dige"
    ),
    actions=words("ajoute teste v\u00e9rifie supprime cr\u00e9e lis cherche pousse committe d\u00e9ploie avertis attends demande"),
    asked=form(
        r"(?:est-ce|peux-tu|pouvez-vous|pourrais-tu|pourrait-on|peut-on|devrait-on|faut-il|pourquoi|comment|que penses|qu'en|quel\w*|qui|o\u00f9|quand est|as-tu|sommes|et si|on pourrait)\b"
    ),
    told=form(
        r"(?:peut-\u00eatre|supposons|imaginons|si on \w+(?:ait|ions)|d'apr\u00e8s|selon|hier|certains|quelqu'un|voyons|je (?:pense|crois|me demande|n'ai|ne sais|ne ferais|suppose)|j'ai (?!chang\u00e9|dit)"
        r"|(?:il|elle|mon \w+|ma \w+|le \w+|la \w+|l'\w+(?: \w+)?) (?:a dit|m'a dit|dit qu|disent|se plaint|pr\u00e9tend|voulait|a demand\u00e9|a propos\u00e9|n'a jamais|ne bute|ne r\u00e9pond)"
        r"|dans mon dernier|tu dois plaisanter|l'ancien\w*|le test a)"
    ),
    told_within=form(r"\b(?:un jour|qu'en penses-tu|et toi|n'importe quoi|co\u00fbterait|\u00e0 cause de)\b"),
    task=form(
        r"(?:\u00e9cris|impl\u00e9mente|corrige|cr\u00e9e|ajoute|construis|fais|rends|d\u00e9veloppe|g\u00e9n\u00e8re|renomme|supprime|d\u00e9place|remplace|change|montre-moi|traduis) "
        r"(?:-moi |moi )?(?:un|une|le|la|l'|ce|cette|cet|mon|ma|comment)\b"
    ),
    relative=form(r"(?: ?:|\b(?:qui|que|pour que|afin que|o\u00f9|dont)\b)"),
    one_thing=form(
        r"(?:\u00e7a|cela|il(?! (?:ne )?faut)|elle|(?:la|le|l'|cette|ce) ?(?:fonction|m\u00e9thode|test|script|analyseur|classe|commande|bouton|requ\u00eate|r\u00e9sultat|sortie|fichier|page|liste"
        r"|boucle|variable|valeur|champ)) "
    ),
    once=form(
        r"\b(?:pour l'instant|pour le moment|cette fois|aujourd'hui|pas encore|tout de suite)\b|\b(?:pour|dans|sur) (?:ce|cette|cet) (?:seul )?"
        r"(?:test|commit|exemple|cas|branche|fichier|fonction|\u00e9tape|t\u00e2che|ticket)\b"
    ),
    pointed=form(r"^\W*(?:ne |n')?(?:le|la|l'|\u00e7a|cela)\b|^\W*\w+-(?:le|la|les)\b|^\W*\w+ (?:\u00e7a|cela)\b"),
    specific=form(r"(?:\b(?:le|la|ce|cette|cet|ces|un|une|mon|ma|mes|\u00e7a)\b|\bl')"),
    determined=form(r"\w+ (?:(?:le|la|les|ce|cette|cet|un|une|mon|ma)\b|l')"),
    purpose=form(r"\s(?:pour|comme|dans|partout o\u00f9)\s"),
    change=form(
        r"\b(?:finalement|en fait|\u00e0 la place|au lieu|plut\u00f4t|tout compte fait|changement de plan|chang\u00e9 d'avis|ne \w+ plus|n'\w+ plus|plus besoin|d\u00e9sormais"
        r"|\u00e0 partir de maintenant|pass\u00e9\w*|passons|migr\u00e9|remplace\w*|rempla\u00e7ons|de nouveau|maintenant|du pass\u00e9|oublie|laisse tomber)\b"
    ),
    withdrawn=form(
        rf"(?:tu peux )?(?:oublie[rz]?|ignore[rz]?|annule[rz]?|l\u00e8ve|retire[rz]?|on revient sur)\b(?=.*(?:\b{_RULE_NOUN}\b|ce que j'ai dit))"
        rf"|(?:la|cette|les|le) {_RULE_NOUN}\b(?=.*\b(?:lev\u00e9e?|annul\u00e9e?|ne s'applique plus|supprim\u00e9e?|caduque)\b)"
        r"|plus besoin d|ce n'est plus la peine d|tu n'es plus oblig\u00e9|tu n'as plus (?:besoin|\u00e0)\b|vous n'avez plus (?:besoin|\u00e0)\b"
        r"|.{2,60}\b(?:n'\w+|ne \w+) plus (?:besoin|obligatoires?|n\u00e9cessaires?|requis\w*|\u00eatre|devoir|utiles?|exig\u00e9\w*)\b|.{2,60}\bne (?:doit|doivent) plus\b"
        r"|arr\u00eate[rz]? d"
    ),
    unnamed=form(r"(?:oublie|laisse|annule) (?:\u00e7a|cela)\b|j'ai chang\u00e9 d'avis\b|changement de plan\b"),
    dropped=(
        form(rf"(?:laisse tomber|oublie|vire|abandonne|jette|enl\u00e8ve|supprime|abandonnons|virons|laissons tomber|on abandonne|on laisse tomber|on a abandonn\u00e9|nous avons (?:abandonn\u00e9|quitt\u00e9)|on (?:a )?quitt\u00e9) {_NAME}"),
        form(r"([\w.+#-]+(?: [\w.+#-]+)?),? c'est (?:fini|du pass\u00e9|termin\u00e9|de l'histoire ancienne)"),
        form(r"on n'utilis(?:e|era)(?: finalement)? (?:pas|plus) ([\w.+#-]+)"),
        form(r"(?:rempla\u00e7ons|on remplace|nous rempla\u00e7ons|on a remplac\u00e9|remplace(?= (?-i:[A-Z]))) ([\w.+#-]+) par"),
        form(r"[\w.+#-]+ remplace ([\w.+#-]+)"),
        form(r"(?:on (?:est|a|passe)|nous (?:sommes|avons|passons)|passons|fais passer|migre|passe) (?:[\w']+ ){0,3}?(?:de |d')([\w.+#-]+) (?:\u00e0|vers|pour)\b"),
        form(r"on ne \w+ plus ([\w.+#-]+)"),
    ),
    permitted=form(
        r"(?:tu peux|vous pouvez|on peut)\b(?=.*\b(?:maintenant|de nouveau|\u00e0 nouveau|finalement|d\u00e9sormais)\b)"
        r"|.{2,60}\b(?:est|sont) (?:finalement |maintenant |de nouveau |d\u00e9sormais )?(?:permise?s?|autoris\u00e9e?s?)\b"
    ),
    about=form(
        rf"\b{_RULE_NOUN}\b|\b(?:ce que j'ai dit|sur|contre|lev\u00e9e?|annul\u00e9e?|s'applique|permis\w*|autoris\w*|obligatoires?|n\u00e9cessaires?|besoin|peine|oblig\u00e9|oublie|ignore|revient|arr\u00eate"
        r"|lancer|nouveau)\b"
    ),
    rule_noun=form(rf"\b{_RULE_NOUN}\b"),
    rejected=(
        form(r"(?:au lieu de|plut\u00f4t que|\u00e0 la place de|au lieu d'|\u00e0 la place d')\s*(?:des? |d'|les? |l')?((?:(?!(?:pour|on|s'il|prends|prenons)\b)[\w.+#-]+\s*){1,2})"),
        form(r"\bpas (?:des? |d')?([\w.+#-]+)(?=\s*[.!]?$|,)"),
    ),
    chosen=(form(
        r"\b(?:utilise[rz]?|utilisons|prends|prenez|prenons|passons \u00e0|restons sur|part(?: finalement)? sur|mise sur|choisi|adoptons|opt\u00e9 pour|reste sur)(?: plut\u00f4t| finalement)? "
        r"(?P<what>(?!(?:le|la|les|un|une|cette|ce)\b|l')(?:des )?[\w.+#-]+(?: (?!pour|comme)[\w.+#-]+)?)(?: (?:pour|comme) (?P<purpose>(?:[\w'-]+ ?){1,4}))?"
    ),),
    scopes=words("code projet d\u00e9p\u00f4t fichi session tout fonction class test"),
    rivals=tuple(
        words(group)
        for group in (
            "tabulation espac",
            "m\u00e9triqu imp\u00e9rial",
            "simpl doubl",
            "camelcas snake_cas kebab-cas pascalcas",
            "npm yarn pnpm bun",
            "pip poetry uv conda",
            "pytest unittest nos",
            "fusionn rebas squash",
            "fran\u00e7ai anglai allemand espagnol italien chinoi",
            "formellement famili\u00e8rement",
        )
    ),
    topics=words("indent unit guillemet nom paquet langu r\u00e9pons r\u00e9pond"),
    stop=words(
        "le la les l un une des du de d et ou est sont ne n pas jamais plus dans sur pour par avec sans que qu qui dont au aux \u00e0 en y ce"
        " cette ces cet \u00e7a cela c je j tu il elle on nous vous ils elles moi m te t toi me mon ton son ma ta sa mes tes ses notre votre nos si"
        " mais donc car quand comme tout tous toute toutes chaque rien toujours doit dois doivent faut fait s se utilise utiliser utilisez"
        " utilisons prends prenons prendre veux peut peux pouvez aucun aucune d\u00e9sormais maintenant lieu place plut\u00f4t passons restons"
        " avoir \u00eatre as ai a es soit nouveau finalement pla\u00eet merci tr\u00e8s projet d\u00e9p\u00f4t uniquement seulement maximum part parte"
        " utile o\u00f9 partout surtout d\u00e8s apr\u00e8s avant sous va vont chez choisi choisir reste mise dit nouvelle nouvelles compte"
    ),
    suffixes=("ements", "ement", "\u00e9es", "aient", "ants", "ant", "ons", "ez", "\u00e9e", "\u00e9s", "ales", "ale", "er", "es", "\u00e9", "e", "s", "x"),
    elided="l|d|n|s|qu|j|c|m|t|jusqu|lorsqu",
)
