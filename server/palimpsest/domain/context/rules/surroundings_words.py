"""The classes of words that speak of a project's surroundings, in each language (`surroundings.Surroundings`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from palimpsest.domain.context.rules.forms import form
from palimpsest.domain.context.rules.surroundings import Entries, Surroundings

_ENGLISH = Surroundings(
    people=Entries(
        """
        customers, customer, clients, users, readers, members, visitors, guests, patients, students, pupils, players,
        drivers, nurses, doctors, teachers, parents, children, kids, engineers, technicians, inspectors, operators,
        auditors, auditor, reviewers, maintainers, translators, editors, designers, lawyers, legal, accountants,
        accounting, finance, sales, support, marketing, ops, interns, colleague, colleagues, team, teams, staff, crew,
        company, department, management, boss, union, regulator, authorities, ministry, government, court, police,
        school, university, hospital, hospitals, clinic, bank, insurer, vendor, suppliers, supplier, partner,
        partners, provider, donors, investors, sponsor, agency, publisher, newspaper, community, testers, people,
        folks, everybody, everyone, seniors, wife, husband, son, daughter, audience, shift, contract, law, grant,
        budget, license, licence, treaty, volunteers, shops, farmers
        """
    ),
    gear=Entries(
        """
        server, servers, box, machine, machines, host, hosts, laptop, laptops, desktop, computers, computer, phone,
        phones, tablet, tablets, watch, device, devices, terminal, kiosk, kiosks, router, board, controller, cluster,
        runner, runners, network, proxy, firewall, vpn, internet, wifi, browser, browsers, printer, printers, scanner,
        sensor, sensors, robot, display, screen, screens, keyboard, gpu, ram, memory, disk, disks, storage, flash,
        mainframe, cloud, gateway, mirror, registry, production, staging, plant, factory, warehouse, lab, office,
        ship, vessel, train, trains, car, hardware, firmware, erp, database, repository, repo, monorepo, platform,
        store, container, image, connection, bandwidth, battery, reception, intranet, importer, till, camera, drone,
        tier, hosting, ci
        """
    ),
    lack=Entries(
        """
        there's no, is no, are no, has no, have no, with no, gives no, gets no, get no, no other, no access, without,
        nobody, none of, no one, nothing else, nothing but, everything but, can't, cannot, won't, doesn't, lacks,
        lack, blocks, refuses, refuse, rejects, reject, forbids, forbid, prohibits, chokes, choke, breaks on,
        trips over, mangles, strips, truncates, drops, swallows, off limits, off the, the question, non starter,
        blocked, disabled, banned, forbidden, locked, sealed, frozen, shared, public, read only, illegal, taboo,
        offline, wiped
        """
    ),
    bound=Entries(
        """
        only, at most, at best, at least, up to, maximum, max, capped, limited, nothing else, no other, longer than,
        older than, newer than, later than, wider than, larger than, bigger than, higher than, more than, less than,
        smaller than, shorter than, above, below, beyond, within, between, sole, 9 gb, 9 mb, 9 kb, 9 mm, 9 cm, 9 ms,
        9 seconds, 9 minutes, 9 hours, 9 days, 9 words, 9 characters, 9 columns, 9 rows, 9 lines, 9 cores, 9 seats,
        9 euros, 9 dollars, 9 percent, 9 %, kilobytes, megabytes, gigabytes, a second, a minute, an hour, a day,
        a night, a week, a month, a year, a megabyte, a call, per second, per minute, per hour, per day, per week,
        per month, per year, per megabyte, per user, each time, each request, every night, at night, of memory,
        of ram, most of, half of, many of, mostly, no more
        """
    ),
    version=Entries(
        """
        still, old, older, legacy, ancient, . 9, windows 9, android 9, ios 9, java 9, node 9, python 9, debian 9,
        php 9, centos 9, ubuntu 9, version 9, from 9, stuck with, stuck on, internet explorer, 9 g, for years,
        for good, standard
        """
    ),
    own=Entries(
        """
        our, my, us, we, we're, we've, i'm, i am, here, with us, i work, i read, i pay, i live, i write,
        i copy, i decide
        """
    ),
    moment=Entries(
        """
        today, tonight, yesterday, tomorrow, now, just, again, currently, the moment, so far, already, yet, recently,
        finally, this morning, this afternoon, this week, this time, this run, last night, last week, last month,
        last year, days ago, hours ago, minutes ago, years ago, weeks ago, ago, since, twice, on monday, on tuesday,
        on wednesday, on thursday, on friday, on saturday, on sunday, in may, until may, in march, until march,
        in june, left, is back, me a, is out, running out, on holiday, on leave
        """
    ),
    code=Entries(
        """
        function, method, class, test, tests, loop, query, variable, constructor, field, argument, arguments,
        parameter, module, button, dialog, link, ticket, commit, branch, pr, diff, patch, merge, typo, error, bug,
        exception, trace, log, output, result, results, row, record, issue, problem, question, line, paragraph,
        sentence, script, job, component, endpoint, folder, docstring, page
        """
    ),
    past=form(
        r"^(?!.*\b(?:is|are|be|gets?) )(?:[\w'-]+ ){1,7}?(?!(?:need|speed|feed|seed|bed|shed)\b)\w{2,}ed\b"
        r"|\b(?:was|were|had|did|didn't|wasn't|weren't|couldn't|hadn't|went|came|took|gave|got|made|said|told|saw|found|lost"
        r"|broke|sent|wrote|ran|began|became|felt|kept|knew|thought|brought|bought|caught|paid|sold|fell|met|spoke|won|rose"
        r"|grew|blew|flew|froze|drove|died|used to)\b"
        r"|\b(?:has|have|\w+'ve) (?:\w+ )?(?:been|\w+ed|gone|done|taken|given|written|broken"
        r"|become|come|grown|stopped)\b"
    ),
)
_GERMAN = Surroundings(
    people=Entries(
        """
        kunden, kunde, kundin, nutzer, benutzer, anwender, leser, leserinnen, mitglieder, besucher, gäste, patienten,
        schüler, studenten, spieler, fahrer, ärzte, pfleger, lehrer, eltern, kinder, techniker, monteure, prüfer,
        gutachter, übersetzer, redaktion, juristen, rechtsabteilung, buchhaltung, vertrieb, support, marketing,
        betrieb, praktikanten, kollege, kollegen, kollegin, team, firma, konzern, abteilung, chef, chefin,
        betriebsrat, behörde, behörden, amt, finanzamt, ministerium, gericht, polizei, schule, schulen, krankenhaus,
        klinik, kliniken, bank, versicherung, lieferant, lieferanten, partner, anbieter, dienstleister, spender,
        verlag, zeitung, leute, alle, frau, mann, sohn, tochter, publikum, schicht, nachtschicht, vertrag, gesetz,
        budget, lizenz, dsgvo, datenschutz, vorstand
        """
    ),
    gear=Entries(
        """
        server, bauserver, rechner, maschine, maschinen, host, laptop, laptops, handy, handys, telefon, tablet,
        tablets, uhr, gerät, geräte, terminal, router, platine, steuerung, cluster, runner, netz, netzwerk, proxy,
        firewall, vpn, internet, wlan, browser, drucker, scanner, sensor, sensoren, roboter, anzeige, bildschirm,
        bildschirme, tastatur, grafikkarte, speicher, festplatte, platte, cloud, gateway, spiegel, produktion, werk,
        fabrik, lager, labor, büro, schiff, bahn, auto, hardware, firmware, datenbank, repository, repo, plattform,
        container, image, verbindung, leitung, akku, empfang, intranet, import, importprogramm, kasse, kamera,
        lizenzserver, altsystem, schnittstelle, dateisystem, keller, halle
        """
    ),
    lack=Entries(
        """
        kein, keine, keinen, keiner, keinem, niemand, ohne, nichts, nicht, weder, kaum, verbietet, verbieten,
        verweigert, lehnt, sperrt, gesperrt, blockiert, abgeschaltet, deaktiviert, verboten, tabu, eingefroren,
        schreibgeschützt, öffentlich, fehlt, fehlen, versteht, scheitert an, verschluckt, teilen, geteilt, offline,
        aussen vor
        """
    ),
    bound=Entries(
        """
        nur, höchstens, maximal, mindestens, bis zu, begrenzt, beschränkt, sonst nichts, und sonst, keinen anderen,
        kein anderer, länger als, älter als, neuer als, später als, breiter als, größer als, mehr als, weniger als,
        kleiner als, kürzer als, über, unter, binnen, innerhalb, zwischen, 9 gb, 9 mb, 9 kb, 9 mm, 9 cm, 9 ms,
        9 sekunden, 9 minuten, 9 stunden, 9 tage, 9 wörter, 9 zeichen, 9 spalten, 9 zeilen, 9 kerne, 9 plätze, 9 euro,
        9 prozent, pro sekunde, pro minute, pro stunde, pro tag, pro woche, pro monat, pro jahr, pro aufruf, im monat,
        im jahr, am tag, die woche, jede nacht, nachts, meist, meistens, die meisten, die hälfte, breite, speicher
        """
    ),
    version=Entries(
        """
        noch, alt, alte, alten, altes, . 9, windows 9, android 9, ios 9, java 9, node 9, python 9, debian 9, php 9,
        version 9, von 9, aus 9, internet explorer, bleibt, standard
        """
    ),
    own=Entries(
        """
        unser, unsere, unseren, unserem, unserer, mein, meine, meinem, meinen, meiner, uns, wir, bei uns, hier,
        ich bin, ich arbeite, ich lese
        """
    ),
    moment=Entries(
        """
        heute, gestern, morgen, jetzt, gerade, eben, wieder, schon, bisher, derzeit, momentan, endlich, vorhin,
        diesmal, seit, vor kurzem, diese woche, letzte woche, letzten monat, letztes jahr, am montag, am dienstag,
        am mittwoch, am donnerstag, am freitag, im mai, bis mai, zweimal, mehr frei, übrig, weg, kaputt, im urlaub
        """
    ),
    code=Entries(
        """
        funktion, methode, klasse, test, schleife, abfrage, variable, konstruktor, feld, argument, argumente,
        parameter, modul, knopf, dialog, ticket, commit, commits, zweig, diff, patch, tippfehler, fehler, ausnahme,
        protokoll, log, ausgabe, ergebnis, treffer, eintrag, problem, frage, zeile, absatz, satz, skript, job,
        komponente, endpunkt, ordner, docstring, seite, datei
        """
    ),
    past=form(
        r"\b(?:war|waren|hatte|hatten|wurde|wurden|kam|kamen|ging|gingen|gab|gaben|lief|liefen|lag|lagen|stand|standen|fiel"
        r"|fand|fanden|sah|schrieb|blieb|konnte|konnten|musste|mussten|wollte|sollte|\w{3,}ierten?|meldete|brach|rief|stürzte)\b"
        r"|\b(?:hat|haben|habe)\b.*\b(?:\w*ge\w{2,}(?:t|en)|\w{3,}iert|(?:be|ver|er|ent|zer)\w{2,}(?:t|en))\W*$"
        r"|\b(?:ist|sind|bin)\b.*\w*(?:gegangen|gekommen|geworden|gefallen|gelaufen|gestürzt|geblieben|passiert)\W*$"
    ),
)
_FRENCH = Surroundings(
    people=Entries(
        """
        clients, client, utilisateurs, lecteurs, membres, visiteurs, invités, patients, élèves, étudiants, joueurs,
        conducteurs, chauffeurs, infirmiers, médecins, professeurs, parents, enfants, techniciens, ingénieurs,
        inspecteurs, auditeurs, relecteurs, mainteneurs, traducteurs, rédaction, juristes, juridique, comptabilité,
        comptables, commerciaux, support, marketing, exploitation, stagiaires, collègue, collègues, équipe,
        entreprise, société, maison, service, chef, patron, syndicat, fisc, administration, ministère, tribunal,
        police, école, écoles, hôpital, hôpitaux, clinique, banque, assureur, fournisseur, fournisseurs, partenaire,
        partenaires, prestataire, donateurs, éditeur, journal, gens, monde, femme, mari, fils, fille, public, contrat,
        loi, budget, licence, rgpd, direction, personne
        """
    ),
    gear=Entries(
        """
        serveur, serveurs, machine, machines, hôte, portable, ordinateur, ordinateurs, téléphone, téléphones,
        tablette, tablettes, montre, appareil, appareils, terminal, routeur, carte, contrôleur, cluster, grappe,
        réseau, proxy, vpn, internet, wifi, navigateur, navigateurs, imprimante, scanner, capteur, capteurs,
        robot, écran, écrans, clavier, mémoire, disque, disques, stockage, cloud, nuage, passerelle, miroir,
        production, usine, entrepôt, labo, laboratoire, bureau, bateau, train, voiture, matériel, firmware, base,
        dépôt, plateforme, conteneur, image, connexion, batterie, intranet, importateur, caisse, caméra, api, postes,
        poste
        """
    ),
    lack=Entries(
        """
        n'y, n'a, n'ont, n'avons, pas de, pas d'internet, aucun, aucune, personne, sans, rien, rien d'autre, ne peut,
        ne peuvent, refuse, refusent, rejette, interdit, interdisent, bloque, bloqué, bloqués, bloquée, coupé, coupée,
        désactivé, désactivée, tabou, gelé, lecture seule, public, publique, partagée, partagé, manque, comprend,
        avale, tronque, hors ligne, ne lit, ne sait
        """
    ),
    bound=Entries(
        """
        seulement, uniquement, que, au plus, au maximum, maximum, au moins, jusqu'à, limité, limitée, limités,
        aucun autre, rien d'autre, plus de, moins de, plus long, supérieur, après, avant, dans les, entre, 9 go, 9 mo,
        9 ko, 9 mm, 9 cm, 9 ms, 9 secondes, 9 minutes, 9 heures, 9 jours, 9 mots, 9 caractères, 9 colonnes, 9 lignes,
        9 cœurs, 9 places, 9 euros, 9 %, par seconde, par minute, par heure, par jour, par semaine, par mois, par an,
        par appel, chaque appel, chaque nuit, la nuit, la plupart, la moitié, de large, de mémoire
        """
    ),
    version=Entries(
        """
        encore, vieux, vieille, ancien, ancienne, anciens, . 9, windows 9, android 9, ios 9, java 9, node 9, python 9,
        debian 9, php 9, version 9, de 9, internet explorer, resteront, reste, standard
        """
    ),
    own=Entries(
        """
        notre, nos, mon, ma, mes, nous, chez nous, ici, je suis, je travaille, je lis, je débute, on a, notre équipe
        """
    ),
    moment=Entries(
        """
        aujourd'hui, hier, demain, maintenant, encore une, de nouveau, déjà, ce matin, ce soir, cette semaine,
        cette fois, en ce, moment, semaine dernière, mois dernier, depuis, enfin, vient de, viens de, pour l'instant,
        lundi, mardi, jeudi, vendredi, en mai, en juin, deux fois, n'a plus, ne répond, en vacances
        """
    ),
    code=Entries(
        """
        fonction, méthode, classe, test, boucle, requête, variable, constructeur, champ, argument, arguments,
        paramètre, module, bouton, dialogue, ticket, commit, commits, branche, diff, patch, coquille, erreur,
        exception, trace, sortie, résultat, résultats, entrée, problème, question, ligne, paragraphe, phrase, script,
        tâche, composant, dossier, docstring, page, fichier
        """
    ),
    past=form(
        r"\b\w{2,}(?:ait|aient|ions|èrent|irent)\b|\b(?:était|étaient|avait|avaient|fut)\b"
        r"|\b(?:(?:a|ont|ai|avons|avez)(?:-t-\w+)?|s'est|se sont) (?:(?:pas|déjà|bien|mal|tout|enfin|encore|nous"
        r"|vous) )?"
        r"(?:\w{2,}(?:é|ée|és|ées)|fini|vu|lu|eu|reçu|perdu|rendu|répondu|pu|dû|mis|pris|fait|écrit|dit|été)\b"
        r"|\b(?:est|sont|suis) (?:allé|venu|parti|arrivé|tombé|resté|devenu|sorti)e?s?\b"
    ),
)
_SPANISH = Surroundings(
    people=Entries(
        """
        clientes, cliente, usuarios, lectores, miembros, visitantes, invitados, pacientes, alumnos, estudiantes,
        jugadores, conductores, enfermeros, médicos, profesores, padres, niños, técnicos, ingenieros, inspectores,
        auditores, revisores, traductores, redacción, abogados, legal, contabilidad, contables, ventas, soporte,
        marketing, operaciones, becarios, compañero, compañeros, compañera, equipo, empresa, departamento, jefe, jefa,
        sindicato, hacienda, administración, ministerio, tribunal, policía, escuela, hospital, hospitales, clínica,
        banco, aseguradora, proveedor, proveedores, socio, socios, donantes, editorial, periódico, gente, todos,
        mujer, marido, hijo, hija, público, turno, contrato, ley, presupuesto, licencia, dirección, nadie
        """
    ),
    gear=Entries(
        """
        servidor, servidores, máquina, máquinas, equipo, portátil, ordenador, ordenadores, móvil, móviles, teléfono,
        teléfonos, tableta, tabletas, reloj, dispositivo, dispositivos, terminal, router, placa, controlador, clúster,
        red, proxy, cortafuegos, vpn, internet, wifi, navegador, navegadores, impresora, escáner, sensor, sensores,
        robot, pantalla, pantallas, teclado, tarjeta, memoria, disco, almacenamiento, nube, pasarela, espejo,
        producción, fábrica, almacén, laboratorio, oficina, barco, tren, coche, hardware, firmware, base, repositorio,
        plataforma, contenedor, imagen, conexión, batería, intranet, importador, caja, cámara, api, puestos
        """
    ),
    lack=Entries(
        """
        no hay, no tiene, no tienen, no tenemos, ningún, ninguno, ninguna, nadie, sin, nada, nada más, no puede,
        no pueden, rechaza, rechazan, prohíbe, prohíben, bloquea, bloqueado, bloqueados, bloqueada, desactivado,
        desactivada, prohibido, tabú, congelado, solo lectura, público, pública, compartimos, compartida, falta,
        faltan, entiende, se come, corta
        """
    ),
    bound=Entries(
        """
        solo, sólo, únicamente, como máximo, máximo, como mucho, al menos, hasta, limitado, limitada, ningún otro,
        nada más, más de, menos de, mayor que, después de, antes de, entre, 9 gb, 9 mb, 9 kb, 9 mm, 9 cm, 9 ms,
        9 segundos, 9 minutos, 9 horas, 9 días, 9 palabras, 9 caracteres, 9 columnas, 9 líneas, 9 núcleos, 9 euros,
        9 %, por segundo, por minuto, por hora, por día, al día, por semana, al mes, al año, por llamada,
        cada llamada, cada noche, de noche, casi todos, la mayoría, la mitad, de ancho, de memoria
        """
    ),
    version=Entries(
        """
        sigue, siguen, viejo, vieja, antiguo, antigua, antiguos, . 9, windows 9, android 9, ios 9, java 9, node 9,
        python 9, debian 9, php 9, versión 9, de 9, internet explorer, seguirán, estándar
        """
    ),
    own=Entries(
        """
        nuestro, nuestra, nuestros, nuestras, mi, mis, nosotros, aquí, esta casa, soy, somos, trabajo, leo
        """
    ),
    moment=Entries(
        """
        hoy, ayer, ahora, ahora mismo, otra vez, de nuevo, ya, esta mañana, esta noche, esta semana, esta vez,
        semana pasada, mes pasado, por fin, acaba de, por ahora, el lunes, el martes, el jueves, el viernes, en mayo,
        en junio, dos veces, vacaciones, se ha, quedado sin, quedaban
        """
    ),
    code=Entries(
        """
        función, método, clase, prueba, bucle, consulta, variable, constructor, campo, argumento, argumentos,
        parámetro, módulo, botón, diálogo, ticket, commit, commits, rama, diff, parche, errata, error, fallo,
        excepción, traza, salida, resultado, resultados, entrada, problema, pregunta, línea, párrafo, frase, script,
        tarea, componente, carpeta, docstring, página, archivo
        """
    ),
    past=form(
        r"\b\w{2,}(?:ó|aron|ieron|(?<!ac)(?<!gr)aban?|ábamos)\b|\b(?:ten|hab|pod|quer|dec|sab|hac|ven|deb)ía(?:n|mos)?\b"
        r"|\b(?:fue|fueron|hizo|tuvo|estuvo|vino|dijo|hubo|pude|pudo)\b"
        r"|\b(?:ha|han|he|hemos|había) (?:\w+ )?"
        r"(?:\w+(?:ado|ido)|hecho|visto|dicho|escrito|puesto|vuelto|roto|abierto)\b"
    ),
)
_CHINESE = Surroundings(
    people=Entries(
        """
        客户, 用户, 读者, 会员, 访客, 客人, 病人, 学生, 玩家, 司机, 护士, 医生, 老师, 家长, 孩子, 工程师, 技术员,
        审计, 评审, 维护者, 翻译, 编辑, 律师, 法务, 财务, 会计, 销售, 客服, 市场部, 运维, 实习生, 同事, 团队, 公司,
        部门, 领导, 老板, 工会, 监管, 政府, 法院, 警察, 学校, 医院, 银行, 保险, 供应商, 合作方, 服务商, 出版社, 报社,
        大家, 太太, 老公, 儿子, 女儿, 夜班, 合同, 法律, 法规, 预算, 许可, 第三方, 税务
        """
    ),
    gear=Entries(
        """
        服务器, 机器, 主机, 笔记本, 电脑, 手机, 平板, 手表, 设备, 终端, 路由, 板子, 控制器, 集群, 网络, 内网, 外网,
        代理, 防火墙, 浏览器, 打印机, 扫描, 传感器, 机器人, 看板, 屏幕, 键盘, 显卡, 内存, 磁盘, 硬盘, 存储, 云上,
        网关, 镜像, 生产环, 工厂, 厂区, 仓库, 实验室, 办公室, 船上, 火车, 车上, 硬件, 固件, 数据库, 平台, 容器, 连接,
        带宽, 电池, 信号, 接口, 收银, 摄像头
        """
    ),
    lack=Entries(
        """
        没有, 没人, 没法, 无法, 不能, 不会, 不行, 不支持, 看不懂, 打不开, 不认, 不算, 不换, 谁都没, 禁止, 不允许,
        拒绝, 封住, 封掉, 关掉, 关着, 冻结, 只读, 公开, 共用, 缺, 丢, 截断, 离线, 断网
        """
    ),
    bound=Entries(
        """
        只有, 只能, 只, 最多, 最宽, 最大, 至多, 上限, 至少, 以内, 以上, 以下, 以后才, 之内, 之前, 超过, 多于, 限制,
        每秒, 每分, 每天, 每周, 每月, 每年, 每次, 一个月, 一天, 一周, 一年, 一次, X毫秒, X秒, X分钟, X小时, X天,
        X毫米, X个字, X列, X字, 四百字, 十次, 按次, 按调用, 大多, 多数, 一半, 全部, 什么都, 别的
        """
    ),
    version=Entries(
        """
        还是X, 还在, 旧, 老的, 年的, 版本, 标准, 几年
        """
    ),
    own=Entries(
        """
        我们, 我的, 我们的, 我们这, 这里, 这边, 我有, 我在
        """
    ),
    moment=Entries(
        """
        今天, 昨天, 明天, 现在, 刚, 刚才, 正在, 又, 已经, 目前, 这次, 那次, 上周, 上个月, 去年, 早上, 晚上再, 还剩,
        剩X, 了。, 了, 过, 终于, 暂时, 在休假, 月份
        """
    ),
    code=Entries(
        """
        函数, 方法, 类, 测试, 循环, 查询, 变量, 构造, 字段, 参数, 模块, 按钮, 对话框, 工单, 提交, 分支, 补丁, 错误,
        异常, 堆栈, 输出, 结果, 记录, 问题, 第X行, 段落, 句子, 脚本, 任务, 组件, 文件夹, 页面
        """
    ),
)
SURROUNDINGS: Final[Mapping[str, Surroundings]] = {
    "English": _ENGLISH,
    "German": _GERMAN,
    "French": _FRENCH,
    "Spanish": _SPANISH,
    "Chinese": _CHINESE,
}
