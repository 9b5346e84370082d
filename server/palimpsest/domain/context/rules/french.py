"""French."""

from __future__ import annotations

from typing import Final

from palimpsest.domain.context.rules.forms import Forms, form, words
from palimpsest.domain.context.rules.french_usage import USAGE

_SCOPE = (
    r"(?:à partir de maintenant|à partir d'ici|dès maintenant|dès à présent|à partir d'aujourd'hui|désormais"
    r"|dorénavant|à l'avenir|à chaque fois"
    r"|en règle générale"
    r"|(?:dans|pour) (?:ce|cette|notre|tout le) (?:dépôt|projet|repo|code|session|conversation)"
    r"|par défaut|sans exception"
    r"|sous aucun prétexte|pour le reste de)"
)
_RULE_NOUN = r"(?:règle|consigne|contrainte|limite|décision|convention|instruction|restriction|exigence)s?"
_ALWAYS = r"(?:toujours|jamais|systématiquement|à chaque fois)"
_NAME = (
    r"((?!(?:le|la|les|l'|ce|cette|ces|un|une|des|ça|cela|tout|la dernière|pas)\b)[\w.+#-]+(?: [\w.+#-]+){0,2}?)"
    r"(?=$| ?[,.:;!](?:\s|$)| (?:et|en faveur|pour|comme|à|au|par|vers|la semaine|hier|le mois|depuis|il y a"
    r"|l'an|en|maintenant|finalement|complètement|dans)\b)"
)
_VERB = (
    r"(?:utilis|gard|lanc|touch|mett|met|écri|répond|préfèr|préfér|évit|demand|limit|nomm|indent"
    r"|explique?|montr|prend|pren|committ?|modifi"
    r"|supprim|ajout|déploi|simul|journalis|attrap|reformat|formatt?|pouss|forc|tutoi|vouvoi|rédig|envoi)\w{0,4}"
)

_OF_A_SUBJECT = (
    r"(?: (?:ce|que|j'ai|je|t'ai|vous|ai|nous|avons|on|a|dit|dites|dis|précédentes|plus haut)){0,6} (?:sur"
    r"|concernant|à propos|au sujet|contre|pour|relatives? à)\b"
)
_THEIR_NOUNS = (
    r"(?:règles|consignes|contraintes|instructions|directives|conventions|restrictions|exigences|décisions|limites"
    r"|messages|ordres|prompts?)"
)
_SWEEPING = form(
    r"\b(?:oublie[rz]?|ignore[rz]?|annule[rz]?|néglige[rz]?|retire[rz]?|efface[rz]?|lève|supprime[rz]?|abandonne[rz]?"
    r"|fais abstraction d[eu]s?|faites abstraction d[eu]s?|ne (?:suis|suivez|respecte[rz]?|tiens|tenez) (?:pas|plus)"
    r"(?: compte)?(?: d[eu]s?)?) (?:"
    r"(?>(?:(?:toutes?|tous|tout|les|tes|vos|mes|nos|ces|des|de|précédentes|anciennes|autres) )*)"
    rf"{_THEIR_NOUNS}\b(?!{_OF_A_SUBJECT})(?! (?:de|du|des|qui) | d')"
    rf"|(?:absolument )?tout(?: (?:ce|le|cela|ça)|\b)(?!{_OF_A_SUBJECT})|ce qui précède)"
    r"|^(?>(?:(?:toutes|tous|les|tes|vos|mes|nos|ces) )+)"
    rf"{_THEIR_NOUNS}\b(?: (?:précédentes?|antérieures?|ci-dessus))? (?:sont|ne s'appliquent|n'ont)\b"
)
_PASSED_ON = form(
    r"\b(?:envoyé|envoie|écrit|écrivait|dit|disait|répondu|répond|affiche|indique|lis|lit|lu|reçu|trouvé|copié|collé"
    r"|posté|transmis|message|mail|courriel|commentaire|journal|log|logs|sortie|erreur|texte|citation|ticket|réponse"
    r"|page|article|fichier|suivant)\b"
)
_SAID_MYSELF = form(
    r"\bje (?:l'ai |t'ai |vous ai )?(?:déjà )?(?:dis|disais|dit|répète)\b|\bj'ai (?:déjà )?(?:dit|écrit)\b"
)
FRENCH: Final = Forms(
    name="French",
    markers=words(
        "le la les un une des du de et ou est sont était ne pas jamais plus dans sur pour par"
        " avec sans que qui dont au aux ce"
        " cette ces ça cela je tu il elle on nous vous ils elles moi te me mon ton son notre"
        " votre nos si mais donc car quand"
        " comme tout tous toutes chaque rien toujours doit dois doivent faut fait l d n s qu j c"
        " m t en à y veux peut peux"
        " aucun aucune désormais maintenant lieu place plutôt avant après passons prenons restons chez"
    ),
    letters=frozenset("èêçàùîôûœ"),
    lead_in=form(
        r"(?:(?:et|mais|donc|alors|bon|ok|d'accord|oui|non(?=[,.!;:])|merci(?: de)?|au fait"
        r"|par ailleurs|en fait|finalement|note[rz]?(?: que)?"
        r"|important|rappel|rappelle-toi|rappelez-vous|souviens-toi|n'oublie pas(?: que)?"
        r"|s'il (?:te|vous) plaît|tout compte fait"
        r"|changement de plan|h+m+|stp|svp|j'ai changé d'avis(?! (?:pour|sur|concernant)\b)|en général|je veux que tu"
        r"|il est important de)(?![\w'-])[\s,.:;!\u2013\u2014-]*)+"
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
        rf"|^(?:les|toutes|tous|chaque|notre|nos) (?:[\w'-]+ ){{1,3}}?(?:vont|sont|doivent|restent"
        rf"|va|est|se) {_ALWAYS}\b"
        rf"|^(?:on|nous|tu) (?:n'|ne |l')?[\w'-]+ {_ALWAYS} (?!eu|vu)\w"
    ),
    tale=form(
        r"\b(?:hier|avait|avaient|était|étaient|avions|a toujours|ont toujours|n'a jamais"
        r"|n'ont jamais|n'ai jamais|devait|devions|a dû"
        r"|il n'y a jamais|la dernière fois)\b|^(?:ça|cela|il|elle) (?!faut)\w+ (?:toujours|jamais)\b"
    ),
    forbid=form(
        r"en aucun cas (?:de |d')?\w|[\w.+#-]+,? c'est (?:non|interdit|niet|proscrit)\b|pas touche\b|"
        r"(?:touche|utilise|mets|fais|pousse|commite|modifie|ajoute|change|supprime|écris|logge"
        r"|mocke)[sz]? (?:pas|jamais|rien|aucun\w*) (?!ça|cela)\w|"
        r"rien ne (?!va\b|marche|fonctionne|passe\b|change|se\b)\w+ |"
        r"(?:ne |n')(?!importe|est|ont|a |ai |y |hésite|t'inquiète)(?:pas |jamais |rien )?(?:me "
        r"|te |nous |le |la |les |l')?[\w-]+ (?:pas|jamais|rien|que|qu'\w+|plus|aucun\w*|nulle part"
        r"|à rien)\b"
        r"|(?:ne|n') ?(?:pas|jamais) \w|évite[rz]?(?:ons)? \w|arrête[rz]? d|pas d(?:e |'|es )(?!problème|souci"
        r"|idée)\w"
        r"|sans (?:mon|ma|notre) [\w]+,? rien\b"
    ),
    forbid_we=form(
        r"\b(?:ne doi(?:t|vent|s)|ne devons|ne faut|ne peu(?:t|vent)) (?:pas|jamais|plus jamais"
        r"|en aucun cas)\b|\b(?:est|sont) (?:banni\w*(?! après| pour)|proscrit\w*|interdit\w*|hors limites"
        r"|tabou)\b(?!.*\?)"
        r"|\bje ne veux (?:pas|plus|aucun\w*)\b|\bon ne \w+ (?:que|pas|jamais)\b"
        r"|\bon n'\w+ (?:que|pas|jamais)\b(?! (?:eu|pu)\b)|\brien (?:[\w']+ ){0,4}ne (?:doit"
        r"|peut)\b"
    ),
    no_kind=form(
        r"(?:pas d(?:e |')|aucune? |jamais d(?:e |'))(?!problème|souci|idée"
        r"|erreur)[\w.'-]+(?!.*\b(?:trouvé\w*|reçue?s?|reste|est|sont|était)\b).*"
    ),
    abandoned=form(r"(?:on|nous|je) (?:ne |n')[\w'-]+(?: \w+)? plus\b(?! besoin)"),
    negative=form(r"\b(?:jamais|n'\w+ pas|interdit\w*|évite\w*|en aucun cas)\b"),
    condition=form(
        r"(?:quand|lorsque|lorsqu'|avant (?:de|toute?|chaque)|après (?:chaque|avoir)|si|dès que"
        r"|chaque fois que) ?(?:tu|on|nous|vous|un\w?|\w+er\b|\w+)"
    ),
    order_after_condition=form(r"(?:tu|il|on) (?:dois|faut|doit)\b"),
    kind=form(
        r"\b(?:toujours|jamais|chaque|tous|toutes|tout nouveau|uniquement|seulement|plutôt que"
        r"|au lieu d|au plus|maximum|au minimum|partout"
        r"|si possible|exclusivement|moins de \d+|sous \d+|avant d|après chaque|quand tu)"
    ),
    weak_kind=form(r"\b(?:pas|sans|aucun\w*)\b"),
    each=form(r"\b(?:chaque|avant (?:de|d'|toute?)|quand tu|après chaque|à chaque)"),
    owed=form(r"\b(?:doi(?:t|vent)|faut|a besoin|ont besoin)\b"),
    owed_kind=form(
        r"(?:l'|la |le |notre )(?:api|application|appli|service|serveur|interface|base de données"
        r"|bibliothèque|client|cli|programme"
        r"|paquet|site) doit |"
        r"(?:tous|toutes|chaque|tout|les|nos) (?!deux\b)"
    ),
    owed_bare=form(
        r"(?:doit|il faut|devra) (?!plaisanter|y avoir)(?:ne pas |toujours |encore )?(?:\w+) \w"
        r"|il ne faut (?:jamais|pas) \w"
    ),
    decided=form(
        r"(?:on|nous) (?:(?:a|avons) (?:décidé|choisi|opté|convenu|retenu)|s'est mis d'accord"
        r"|nous sommes mis d'accord|part(?:ons)?(?: finalement)? sur|mise sur|utilise|utilisons"
        r"|prend|prenons|garde"
        r"|reste|suit|suivons|vise|visons|supporte|stocke|écrit|est pass\w* d|a migré"
        r"|avons (?:quitté|migré)|est sur)\b(?! (?:ça|cela|le même|ce)\b)"
        r"|on est pass\w+ d|nous (?:suivons|utilisons|visons)|(?:prenons|utilisons|restons sur"
        r"|passons à|gardons|adoptons|partons sur|remplaçons|abandonnons)\b(?! (?:ça|cela)\b)"
        r"|je préfère\b(?! (?:ça|que tu ne))|chez nous,? |je veux (?:que (?:chaque|tous|toutes)|toujours)"
    ),
    choice=form(
        r"(?:on|nous) (?:(?:a|avons) (?:décidé|choisi|opté|convenu|retenu|migré|quitté)"
        r"|s'est mis d'accord|part(?:ons)? sur|mise sur|est pass\w+)\b"
        r"|(?:prenons|utilisons|restons sur|passons à|adoptons|partons sur|remplaçons)\b"
    ),
    standing=form(
        r"les (?:[\w'-]+ ){1,4}(?:commencent|finissent|se terminent) par \w|en cas de doute,? \w"
        r"|les [\w'-]+ (?:toujours|jamais) \w|les [\w'-]+ ne \w+ jamais \w"
        r"|personne ne (?!sait|comprend|m'|l'|s')\w+ (?:la|le|les|l'|de) ?\w|laisse[rz]? (?:le |la |les "
        r"|l')?[\w./-]+ tranquilles?\b|(?:donne|montre|envoie|dis)(?:-\w+)? toujours \w"
        r"|tu n'as pas le droit d|pas plus d(?:e |')(?:une?|deux|trois|\d+) \w+ par \w|"
        r"(?:reste[rz]?|restons|tiens-toi|tenons-nous) (?:sur|à|avec|aux?) (?!ça|cela|cette|ce\b)\w"
        r"|[\w'. -]{3,30}?(?:sous(?: les)?|moins de|au plus|maximum|max\.?|jamais plus de"
        r"|de) \d+ \w+(?: (?:au )?(?:maximum|max|au plus|au moins))?\W*$"
        r"|(?:toute?s?|tous|chaque) (?:les |nos )?(?:nouve\w+ )?(?:[\w'-]+ ){1,3}?(?:doi\w+ (?:être|passer"
        r"|avoir)|(?:est|sont|va|vont|passe|passent|reste|restent) (?:en|dans|par|à|sous)|nécessite\w*|a besoin"
        r"|requier\w+) \w"
        r"|(?:[\w'-]+,? ){0,2}(?:réponses|explications|commentaires|commits|messages|noms|fonctions|résumés"
        r"|phrases|tests)(?: [\w-]+){0,3},? (?:stp|svp|s'il (?:te|vous) plaît|seulement|uniquement)\b"
        r"|les [\w'-]+(?: [\w'-]+)? (?:sont|vont|restent|vivent|s'écrivent|se mettent) (?:[\w'-]+,? ){0,3}(?:pas"
        r"|jamais) [\w' -]{2,30}\W*$"
        r"|les [\w'-]+ (?:vivent|vont|restent|se rangent|s'écrivent|se mettent) (?:à|dans|en|sous|avec) \w"
        r"|(?:on|nous) (?:préf\w+|privilégi\w+|évit\w+|garde|gardons|écrit|écrivons|nomme|indente|traite"
        r"|stocke) (?!le |la |ça|cela|ce )\w"
        r"|(?:traite|considère)[rz]? les [\w'-]+ comme \w|rien ne (?:part|va|sort|passe|entre) \w+ \w+ sans \w|"
        r"(?:notre|la) (?:[\w-]+ ){0,2}(?:convention|règle|politique)(?: est|\s?:)|(?:longueur"
        r"|taille|largeur|[\w']+)(?: de \w+)? max(?:imale|imum)?(?: est(?: de)?|\s?:)? ?\d+"
        r"|[\w'-]+(?: [\w'-]+){0,3} (?:en|dans) [\w' -]{2,30} (?:uniquement|seulement)\b"
        r"|chaque [\w'-]+ (?:a besoin|doit|reçoit|contient)"
        r"|les [\w'-]+(?: [\w'-]+)? (?:vont|restent|se mettent) (?:dans|à côté|sous)|(?:chez nous"
        r"|ici),? (?:les|on|tous|toutes)\b"
        r"|(?!(?:redémarre|mets|rends|corrige)\b)[\w.+#'-]+(?: [\w.+#'-]+){0,4} (?:au lieu de"
        r"|plutôt que|à la place de) (?:des? |d'|les? )?(?!attendre)[\w.+#-]+[^?]{0,30}$"
        r"|[\w.+#-]+ à la place\W*$|des [\w-]+(?: [\w-]+)? (?:à partir de maintenant|pour \w+"
        r"|, pas \w+)\W*$|des \w+ \w+,? pas \w+\W*$"
        r"|[\w.+#-]+ pour (?:le |la |les |l')?[\w.+#-]+,? pas [\w.+#-]+\W*$|(?:les|des) \w+ (?:en"
        r"|au) \w+(?: s'il (?:te|vous) plaît)?\W*$|ruff remplace\b|[\w.+#-]+ remplace [\w.+#-]+"
        r"|sans (?:mon|ma|notre) [\w]+,? (?:rien|aucun)|(?:les )?commentaires en \w+|tout nouveau code"
    ),
    habits=words(
        "utilise utilisez utiliser garde gardez mets mettez écris écrivez écrire réponds"
        " répondez préfère préférez évite évitez demande"
        " demandez limite limitez nomme nommez indente indentez explique expliquez montre"
        " montrez prends prenez prendre tutoie tutoyez vouvoie"
        " lance lancez traite appelle commence termine cite formate rédige rédigez fusionne envoie documente laisse"
    ),
    styles=words(
        "utilise utilisez utiliser écris écrivez réponds répondez préfère préférez évite évitez"
        " indente indentez nomme prends prenez limite"
        " tutoie vouvoie rédige"
    ),
    actions=words("ajoute teste vérifie supprime crée lis cherche pousse committe déploie avertis attends demande"),
    asked=form(
        r"(?:est-ce|peux-tu|pouvez-vous|pourrais-tu|pourrait-on|peut-on|devrait-on|faut-il"
        r"|pourquoi|comment|que penses|qu'en|quel\w*|qui|où|quand est|as-tu|sommes|et si"
        r"|on pourrait)\b"
    ),
    told=form(
        r"(?:peut-être|supposons|imaginons|si on \w+(?:ait|ions)|d'après|selon|hier|certains"
        r"|quelqu'un|voyons|je (?:pense|crois|me demande|n'ai(?! plus besoin)|ne sais|ne ferais|suppose)"
        r"|j'ai (?!changé|dit)"
        r"|(?:il|elle|mon \w+|ma \w+|le \w+|la \w+|l'\w+(?: \w+)?) (?:a dit|m'a dit|dit qu|disent"
        r"|se plaint|prétend|voulait|a demandé|a proposé|n'a jamais|ne bute|ne répond)"
        r"|dans mon dernier|tu dois plaisanter|l'ancien\w*|le test a)"
    ),
    told_within=form(r"\b(?:un jour|qu'en penses-tu|et toi|n'importe quoi|coûterait|à cause de)\b"),
    task=form(
        r"(?:écris|implémente|corrige|crée|ajoute|construis|fais|rends|développe|génère|renomme"
        r"|supprime|déplace|remplace|change|mets|ouvre|montre-moi|traduis) "
        r"(?:-moi |moi )?(?:un|une|le|la|l'|ce|cette|cet|mon|ma|comment)\b"
    ),
    relative=form(r"(?: ?:|\b(?:qui|que|pour que|afin que|où|dont)\b)"),
    one_thing=form(
        r"(?:ça|cela|il(?! (?:(?:ne )?faut|est interdit))|elle|(?:la|le|l'|cette|ce) ?(?:fonction|méthode|test"
        r"|script|analyseur|classe|commande|bouton|requête|résultat|sortie|fichier|page|liste"
        r"|boucle|variable|valeur|champ)) "
    ),
    once=form(
        r"\b(?:pour l'instant|pour le moment|cette fois|aujourd'hui|pas encore|tout de suite)\b"
        r"|\b(?:pour|dans|sur) (?:ce|cette|cet) (?:seul )?"
        r"(?:test|commit|exemple|cas|branche|fichier|fonction|étape|tâche|ticket)\b"
    ),
    pointed=form(r"^\W*(?:ne |n')?(?:le|la|l'|ça|cela)\b|^\W*\w+-(?:le|la|les)\b|^\W*\w+ (?:ça|cela)\b"),
    specific=form(r"(?:\b(?:le|la|ce|cette|cet|ces|un|une|mon|ma|mes|ça)\b|\bl')"),
    determined=form(r"\w+ (?:(?:le|la|les|ce|cette|cet|un|une|mon|ma)\b|l')"),
    purpose=form(r"\s(?:pour|comme|dans|partout où)\s"),
    turned=form(
        r"(?:(?:non|ok|bon|h+m+|euh|ah|oh|attends|pardon|en fait|finalement)[,.! ]+){0,3}"
        r"(?:(?:on (?:revient|retourne|repasse)|reviens|revenons|retournons|repass\w+|retour|reprends"
        r"|on reprend) (?:à|aux?|en|sur|avec)?"
        r"|plutôt|mieux vaut|mets plutôt|finalement|en fait,?|(?:non|h+m+|euh|attends|pardon)[,.!]+)"
        r" (?P<what>(?:des |les |d')?(?!(?:le|la|un|une|ce|cette|mon|ma|pas|de)\b)[\w.+#-]+(?: [\w.+#-]+){0,2}?)"
        r"(?: (?:stp|svp|alors|finalement|de nouveau|s'il te plaît))*\W*$"
    ),
    heading=form(r"(?:on|nous|ce (?:repo|dépôt|projet|code)|cette base de code|nos|notre|tout)\b"),
    change=form(
        r"\b(?:finalement|en fait|à la place|au lieu|plutôt|tout compte fait|changement de plan"
        r"|changé d'avis|ne \w+ plus|n'\w+ plus|plus besoin|désormais"
        r"|à partir de maintenant|passé\w*|passons|migré|remplace\w*|remplaçons|de nouveau"
        r"|maintenant|du passé|oublie|laisse tomber)\b"
    ),
    instead=form(r"\bà la place\b(?! d)|\bplutôt\b(?! que)"),
    withdrawn=form(
        rf"(?:tu peux )?(?:oublie[rz]?|ignore[rz]?|annule[rz]?|lève|retire[rz]?"
        rf"|on revient sur)\b(?=.*(?:\b{_RULE_NOUN}\b|ce que j'ai dit))"
        rf"|(?:la|cette|les|le) {_RULE_NOUN}\b(?=.*\b(?:levée?|annulée?|ne s'applique plus|supprimée?|caduque)\b)"
        r"|plus besoin d|ce n'est plus la peine d|tu n'es plus obligé|tu n'as plus (?:besoin|à)\b"
        r"|vous n'avez plus (?:besoin|à)\b"
        r"|.{2,60}\b(?:n'\w+|ne \w+) plus (?:besoin|obligatoires?|nécessaires?|requis\w*|être"
        r"|devoir|utiles?|exigé\w*)\b|.{2,60}\bne (?:doit|doivent) plus\b"
        r"|(?:j'ai changé d'avis|je reviens) (?:pour|sur|concernant) \w"
        r"|plus (?:la peine |besoin )?d(?:e |')\w"
        r"|arrête[rz]? d"
    ),
    unnamed=form(
        r"(?:oublie|laisse|annule) (?:ça|cela)\b|j'ai changé d'avis\b(?! (?:pour|sur|concernant)\b)"
        r"|changement de plan\b"
    ),
    sweeping=_SWEEPING,
    passed_on=_PASSED_ON,
    said_myself=_SAID_MYSELF,
    dropped=(
        form(
            rf"(?:laisse tomber|oublie|vire|abandonne|jette|enlève|supprime|abandonnons|virons"
            rf"|laissons tomber|on abandonne|on laisse tomber|on a (?:abandonné|viré|jeté|retiré|supprimé"
            rf"|laissé tomber|arrêté|lâché)|on (?:vire|jette|lâche|arrête)|fini"
            rf"|nous avons (?:abandonné|quitté)|on (?:a )?quitté) {_NAME}"
        ),
        form(r"([\w.+#-]+(?: [\w.+#-]+)?),? c'est (?:fini|du passé|terminé|de l'histoire ancienne)"),
        form(
            r"([\w.+#-]+(?: [\w.+#-]+)?) (?:est|était|a été) (?:remplacé|abandonné|mort|retiré|une erreur|écarté"
            r"|de l'histoire ancienne|de trop"
            r"|hors jeu|out|overkill|trop lourd)e?\b"
        ),
        form(r"(?:finalement,? )?(?:pas|plus) (?:de |d')([\w.+#-]+)(?=\W*$| (?:finalement|après tout)|,)"),
        form(r"([\w.+#-]+(?: [\w.+#-]+)?) ?(?:->|=>|\u2192) ?[A-Za-z][\w.+#-]*(?=$|[,.;:! ])"),
        form(r"(?:on en a fini|c'est fini) avec ([\w.+#-]+)"),
        form(r"(?:remplace|échange|change)[rz]? ([\w.+#-]+) (?:par|contre|pour) "),
        form(r"on n'utilis(?:e|era)(?: finalement)? (?:pas|plus) ([\w.+#-]+)"),
        form(r"(?:remplaçons|on remplace|nous remplaçons|on a remplacé|remplace(?= (?-i:[A-Z]))) ([\w.+#-]+) par"),
        form(r"[\w.+#-]+ remplace ([\w.+#-]+)"),
        form(
            r"(?:on (?:est|a|passe)|nous (?:sommes|avons|passons)|passons|fais passer|migre"
            r"|passe) (?:[\w']+ ){0,3}?(?:de |d')([\w.+#-]+) (?:à|vers|pour)\b"
        ),
        form(r"on ne \w+ plus ([\w.+#-]+)"),
    ),
    permitted=form(
        r"(?:tu peux|vous pouvez|on peut)\b(?=.*\b(?:maintenant|de nouveau|à nouveau|finalement|désormais)\b)"
        r"|.{2,60}\b(?:est|sont) (?:(?:finalement|maintenant|de nouveau|à nouveau|désormais) (?:ok|autorisée?s?"
        r"|permise?s?|okay|bons?"
        r"|acceptés?|possibles?|permis)|permise?s?|autorisée?s?)\b"
    ),
    about=form(
        rf"\b{_RULE_NOUN}\b|\b(?:ce que j'ai dit|sur|contre|levée?|annulée?|s'applique|permis\w*"
        rf"|autoris\w*|obligatoires?|nécessaires?|besoin|peine|obligé|oublie|ignore|revient|arrête"
        r"|lancer|nouveau|changé|avis|reviens|pour|ok)\b"
    ),
    rule_noun=form(rf"\b{_RULE_NOUN}\b"),
    rejected=(
        form(
            r"(?:au lieu de|plutôt que|à la place de|au lieu d'|à la place d')\s*(?:des? |d'"
            r"|les? |l')?((?:(?!(?:pour|on|s'il|prends|prenons)\b)[\w.+#-]+\s*){1,2})"
        ),
        form(r"\bpas (?:des? |d')?([\w.+#-]+)(?=\s*[.!]?$|,)"),
    ),
    chosen=(
        form(
            r"\b(?:utilise[rz]?|utilisons|prends|prenez|prenons|passons à|restons sur"
            r"|prend|part(?: finalement)? sur|mise sur|choisi|adoptons|opté pour|reste sur)(?: plutôt"
            r"| finalement)? "
            r"(?P<what>(?!(?:le|la|les|un|une|cette|ce)\b|l')(?:des )?[\w.+#-]+(?: (?!pour"
            r"|comme)[\w.+#-]+)?)(?: (?:pour|comme) (?P<purpose>(?:[\w'-]+ ?){1,4}))?"
        ),
    ),
    scopes=words("code projet dépôt fichi session tout fonction class test"),
    rivals=tuple(
        words(group)
        for group in (
            "tabulation tabulations espac",
            "métriqu impérial",
            "simpl doubl",
            "camelcas snake_cas kebab-cas pascalcas",
            "npm yarn pnpm bun",
            "pip poetry uv conda",
            "pytest unittest nos",
            "fusionn rebas squash",
            "françai anglai allemand espagnol italien chinoi",
            "formellement familièrement formell",
            "court bref brièv long longu détaillé",
        )
    ),
    topics=words("indent unit guillemet nom paquet langu répons répond"),
    stop=words(
        "le la les l un une des du de d et ou est sont ne n pas jamais plus dans sur pour par"
        " avec sans que qu qui dont au aux à en y ce"
        " cette ces cet ça cela c je j tu il elle on nous vous ils elles moi m te t toi me mon"
        " ton son ma ta sa mes tes ses notre votre nos si"
        " mais donc car quand comme tout tous toute toutes chaque rien toujours doit dois"
        " doivent faut fait s se utilise utiliser utilisez"
        " utilisons prends prenons prendre veux peut peux pouvez aucun aucune désormais"
        " maintenant lieu place plutôt passons restons"
        " avoir être as ai a es soit nouveau finalement plaît merci très projet dépôt uniquement"
        " seulement maximum part parte"
        " partir préfère préférez utile où partout surtout dès après avant sous va vont chez choisi choisir reste mise"
        " dit nouvelle nouvelles compte"
    ),
    suffixes=(
        "ements",
        "ement",
        "ées",
        "aient",
        "ants",
        "ant",
        "ons",
        "ez",
        "ée",
        "és",
        "ales",
        "ale",
        "er",
        "re",
        "es",
        "é",
        "e",
        "s",
        "x",
    ),
    enclitic=form(r"-(?:moi|nous|le|la|les|lui|leur)$"),
    elided="l|d|n|s|qu|j|c|m|t|jusqu|lorsqu",
    usage=USAGE,
)
