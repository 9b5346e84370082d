"""French: habits, single steps, permission and giving up, by classes of words."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.context.rules.forms import Usage, form, words

_THE = r"(?:(?:l'|le |la |les |des |du |de |d'|ce |cette |nos |notre ))?"
_NAME = (
    rf"{_THE}(?P<what>(?!(?:le|la|les|un|une|ce|cette|ces|on|je|tu|il|elle|nous|ça|cela|tout|rien|pas|de|des)\b)"
    r"[\w.+#/-]+(?: [\w.+#/-]+){0,2}?)"
)
_END = r"(?=\s*$|\s*[,.;:!]|\W*$| (?:et|pour|à|en|maintenant|finalement|au|par|désormais|stp|svp)\b)"
_FROM_NOW = r"(?:maintenant|de nouveau|à nouveau|désormais|dorénavant|finalement|à partir de maintenant)"
_FINE = r"(?:ok|okay|autorisée?s?|permise?s?|permis|bons?|bonnes?|possibles?|bienvenue?s?|acceptée?s?|accepté)"
_CHOOSE = r"(?:prends|prenons|prenez|utilise|utilisons|on |passons|partons|mets)"
_ORDER = (
    r"(?:utilise|garde|mets|écris|nomme|montre|liste|explique|vérifie|documente|commente|teste"
    r"|ajoute|trie|range|place"
    r"|stocke|traite|indente|formate|lance|signe|marque|logue)[sz]?"
)

USAGE: Final = Usage(
    request=form(
        r"(?:peux-tu|tu peux|tu pourrais|pourrais-tu|pouvez-vous|vous pouvez) (?:s'il te plaît "
        r"|stp )?(?=(?:ne )?(?:toujours"
        r"|jamais) \w+er?\b|.*\b(?:à partir de maintenant|désormais|dorénavant|à l'avenir)\b.*\?)"
    ),
    plea=form(
        r"(?:(?:souviens-toi|rappelle-toi|rappelez-vous|n'oublie pas|garde en tête|retiens|sache) qu(?:e |')"
        r"|(?:une |nouvelle |petite |ma |autre )*(?:règle|consigne|convention|demande)(?: (?:pour"
        r"|de) [\w ]{1,20})?\s*:"
        r"|(?:ce serait|ça serait|il serait) (?:bien|super|top|mieux|sympa|cool) (?:que tu|si tu|de)"
        r"|quoi qu'il (?:arrive|advienne)|(?:pour )?la prochaine fois(?: et toujours)?\s*[:,]"
        r"|veille[rz]? (?:bien )?à(?= ne | toujours)|essaie d(?:e |')|merci de(?= (?:toujours"
        r"|ne)))[\s,:;\u2013\u2014-]*"
    ),
    assent=form(r"(?:oui|ouais|ouep|exact|exactement|tout à fait)\b[\s,.!]"),
    past=form(
        r"\b(?:à l'époque|autrefois|avant on|l'an(?:née)? derni\w+|le mois dernier|la semaine dernière"
        r"|dans mon (?:dernier|ancien)"
        r" \w+|il fallait)\b|\b(?:n'as|n'a|n'avez|n'ont|as|a|avez|ont) (?:jamais|toujours) \w+(?:é|u|i|is|it)e?s?\b"
        r"|\bne? \w+rais jamais\b"
    ),
    momentary=form(
        r"\bavant (?:de|qu'on|que (?:tu|nous)) (?:ne )?(?:commenc|continu|démarr|début|passer)\w*"
        r"|\bjuste cette fois\b"
        r"|^(?:utilisons|prenons|mettons) une? [\w-]+ ici\b|\bpour cette fois\b"
    ),
    made=form(
        r"(?:ajoute|écris|crée|fais|construis|implémente|change|modifie) [\w' .`-]{2,60}?(?: : ?|: | qui (?:vérifie"
        r"|teste|contrôle)"
        r"| pour qu(?:e |'))"
        r"|(?:donne|montre|envoie|affiche)(?:-moi)? (?:le|la|l')[\w' ]{3,30} (?:de|complet de|entier de) chaque \w+,"
    ),
    habitual=form(
        r"(?:toutes les|tous les|chaque|tous|toutes) [\w'-]+(?: [\w'-]+)? (?:en|au|par|via|sous|dans"
        r"|avec) [\w'. -]{2,30}\W*$"
        r"|(?:une? seule?|un|une|deux|trois|\d+) [\w-]+ par [\w-]+(?: [\w-]+)?(?:,? (?:stp|svp|maximum|max))?\W*$"
        r"|(?!(?:le|la|les|un|une|ce|cette)\b)[\w-]+ de (?:maximum )?\d+ [\w-]+(?: (?:maximum|max))?\W*$"
        r"|(?:j'attends|j'exige|je veux|je souhaite|on exige) (?:une?|des|que|toujours) .*\b(?:chaque|tous|toutes"
        r"|toujours)\b"
        r"|les (?:[\w'-]+ ){1,3}(?:doivent|devraient) (?:toujours |tous |toutes )?(?:être|rester|avoir|commencer"
        r"|passer|finir|aller"
        r"|contenir) (?!prêt)\w"
        r"|utilise[rz]? (?:simplement |juste |toujours )?(?:la|le|l') ?[\w-]+ `?[\w.-]+`? pour (?:les|des|tous"
        r"|toutes) \w"
        r"|utilise[rz]? (?:la |l'|le )[\w-]+ v?\d[\w.]*\W*$"
        r"|garde[rz]? (?:les|des|tes|vos) [\w'-]+(?: [\w'-]+)? (?:courte?s?|petite?s?|simples?|brèves?|propres?"
        r"|pures?|concis\w*"
        r"|légers?|légères?)\W*$"
        r"|(?:mets|range|place|stocke) (?:les|des|tes) [\w'-]+ (?:dans|sous|à côté d\w+|en) [\w./` -]{2,30}\W*$"
        r"|on travaille (?:avec|en|sur) \w"
        rf"|{_ORDER} (?:bien |toujours )?(?:[\w'-]+ ){{0,3}}(?:à chaque fois|chaque [\w'-]+)\W*$"
        rf"|{_ORDER} toujours \w"
        r"|(?:tu listes|tu mettes|tu ajoutes|tu \w+es) toujours \w"
        r"|(?:ici|chez nous),? (?:on|les) \w"
        r"|chaque [\w'-]+ (?:a|contient|reçoit|porte|possède) (?:son|sa|ses|un|une|au moins)\b"
        r"|déploie[sz]? (?:avec|via|sur (?-i:[A-Z])\w+\W*$)"
        r"|il (?:est|c'est) (?:important|obligatoire|essentiel|indispensable|impératif) (?:de|que|d') ?\w"
        r"|les [\w'-]+ (?:[\w'-]+ )?(?:ne )?(?:sont|se) (?:toujours|jamais) \w"
    ),
    barred=form(
        r"(?:ne |n')(?:\w+) (?:en aucun cas|sous aucun prétexte|jamais|surtout pas) (?:à |de |d'|les |la |le )?\w"
        r"|(?:tu ne peux|on ne peut|vous ne pouvez|tu n'as) (?:pas|jamais) (?:le droit d(?:e |')|utiliser|ajouter"
        r"|modifier|toucher"
        r"|supprimer|pousser|commiter|installer|importer) ?(?!(?:ça|cela|ce|cette)\b)\w"
        r"|cesse[rz]? d(?:e |')\w"
        r"|je (?:déteste|hais|ne supporte pas|n'aime pas) (?!(?:ça|cela|ce|cette)\b)\w"
        r"|(?:ne )(?:jamais|pas) \w+er \w"
    ),
    ended=(
        form(
            r"(?:oublie[rz]?|oublions|vire[rz]?|virons|jette|jetons|dégage[rz]?|laisse tomber|débarrasse-toi d(?:e|u"
            r"|es)"
            r"|débarrassons-nous d(?:e|u|es)|on (?:(?:peut |va )(?:jeter|virer"
            rf"|oublier|abandonner|arrêter|enlever|supprimer)|vire|jette|oublie|arrête|a (?:jeté|viré|arrêté"
            rf"|oublié))) ?{_NAME}{_END}"
        ),
        form(
            rf"{_NAME},? (?:c'est|est|sont|était) (?:\w+ )?(?:trop|overkill|mort|morte"
            rf"|fini)\b[^,;]{{0,30}}[,;.]\s*(?:donc )?{_CHOOSE}"
        ),
        form(
            rf"{_NAME} (?:n'est|ne sont|n'était|ne sera|ne seront) plus (?:utilisée?s?|nécessaires?|requise?s?"
            rf"|supportée?s?|voulue?s?"
            r"|employée?s?|une option)\b"
        ),
        form(rf"(?:on|nous) (?:n'utilis\w+|ne \w+) plus {_NAME}{_END}"),
        form(rf"{_NAME} (?:dégage|saute|disparaît|part à la poubelle)\b"),
        form(rf"{_NAME}, (?:on|nous) (?:arrête|arrêtons|laisse tomber|oublie|abandonne|vire)\b"),
        form(rf"je ne veux (?:plus|pas) {_NAME} ?(?:finalement|après tout)?\W*$"),
        form(
            rf"[\w.+#-]+ (?:au lieu|à la place) (?:de |d'|du |des ){_NAME}(?=\W*$| (?:stp|svp|maintenant"
            rf"|désormais)\b)"
        ),
        form(rf"(?:plutôt )?[\w.+#-]+ plutôt que {_NAME}(?=\W*$| (?:stp|svp|maintenant|désormais|dorénavant)\b)"),
        form(r"pas (?:de |d'|des )?(?P<what>[\w.+#-]+), (?:mais )?(?:des |du |de la )?[\w.+#-]+\W*$"),
        form(rf"(?:exports? |[\w-]+ )?[\w-]+ en [\w.+#-]+ (?:maintenant|désormais), pas (?:en |sur |avec ){_NAME}\W*$"),
    ),
    unneeded=(
        form(rf"je me suis trompée? (?:sur|avec|pour|en prenant) {_NAME}{_END}"),
        form(r"(?:ce n'est )?(?:plus |pas )(?:besoin|la peine|nécessaire|obligé) (?:de |d')(?P<what>[^,;:]{3,80})"),
        form(
            r"(?:tu|on|je|vous|nous) (?:n'as|n'a|n'ai|n'avez|n'avons|ne veux|ne veut) plus (?:besoin |à "
            r"|envie )?(?:de |d'|que )?"
            r"(?P<what>[^,;:]{3,80})"
        ),
        form(r"(?:arrête|cesse|arrêtez)[rz]? (?:de |d')(?P<what>[^,;:]{3,80}?)(?: (?:stp|svp))?\W*$"),
        form(
            r"tu peux (?:arrêter|cesser|éviter|oublier|laisser tomber|sauter|omettre) (?:de |d')?(?:les |le |la "
            r"|l')?(?P<what>[^,;:]{3,60})"
        ),
        form(r"plus (?:de |d')(?P<what>(?!\d)[\w'-]+(?: [\w'-]+){0,3})\W*$"),
    ),
    freed=(
        form(
            rf"(?P<what>[^;:]{{3,60}}?),? (?:c'est|est|sont) (?:de nouveau |maintenant |désormais "
            rf"|à nouveau )?{_FINE} {_FROM_NOW}\W*$"
        ),
        form(rf"(?P<what>[^;:]{{3,60}}?),? (?:c'est|est|sont) {_FROM_NOW} {_FINE}\b"),
        form(rf"(?:c'est|il est) {_FINE} (?:de |d')(?P<what>[^,;:]{{3,60}}?) {_FROM_NOW}\W*$"),
        form(rf"(?:tu peux|on peut|vous pouvez) (?P<what>[^,;:]{{3,60}}?) {_FROM_NOW}\W*$"),
        form(rf"(?:tu peux|on peut|vous pouvez) {_FROM_NOW} (?P<what>[^,;:]{{3,60}})"),
    ),
    places=words("dans sous vers"),
    numbers=words("un une deux trois quatre cinq six sept huit neuf dix douze vingt"),
    manners=words(
        "formellement formell familièrement court bref brièv long longu détaillé françai anglai allemand"
        " espagnol italien chinoi"
    ),
    placing=words("déploie déploies déployer déployons"),
    norms=(
        form(
            r"(?!.*\b(?:hier|ce matin|cette nuit)\b)(?:les|une?|chaque|nos|tes|mes|mon|ma"
            r"|on) .{3,60}?\b(?:vont|va|restent?|passent?|commencent?|"
            r"débutent?|se terminent?|s'ouvrent?|viennent|vient|(?:sont|est)(?! (?:parti|arriv|pass|ven|all"
            r"|entr|sorti|tomb|deven)\w*\b)|tient|tiennent|appartiennent|"
            r"appartient|se placent?|logent?|portent?|reçoi\w+|contien\w+|indente|écrit|teste|laisse|regroupe|"
            r"s'accompagne)\b.*"
        ),
        form(
            r"(?:à la fin|au début|dans|avant|après|pour) (?:d')?(?:une?|tes|chaque|tout)\b.*|.*\bchez "
            r"nous\b.*|.*\bdans (?:ce (?:projet|code|dépôt)|cette équipe)\b.*"
        ),
        form(
            r"(?:avant|après|quand|dès que|dès qu'|là où|en cas de)\b.*, \w+.*|.* avant de .*|(?:montre|"
            r"dis|présente|demande)\b.*\b(?:d'abord|attends)\b.*"
        ),
        form(
            r".*\b(?:d'abord|ensuite)\b.*\b(?:ensuite|après|puis)\b.*|[\w-]+(?: [\w-]+){0,3} (?:avant|"
            r"plutôt que?|à la place de) .*|(?:un[e]?|deux|trois) \w+ par \w+.*"
        ),
        form(
            r"tu peux (?:te passer|lancer|sauter|omettre)\b.*|épargne\w*\b.*|laisse\w*\b.*\b(?:hors|comme|"
            r"tranquille|vides?)\b.*|garde\w*\b.*\bhors\b.*|bas les pattes\b.*|traite\b.*"
        ),
        form(
            r".*\b(?:est|sont|reste) (?:mon|à moi|à toi|pour|interdit\w*|hors|entre|fermé\w*)\b.*|.*; "
            r"toi, tu\b.*|.*c'est moi qui\b.*|(?:j'aime|je préfère|je voudrais|j'attends|je lis|j'apprends)"
            r"\b.*"
        ),
    ),
)
