"""Rules and changes of mind by classes of words, in each language: habits against single steps, what is taken back."""

from __future__ import annotations

import dataclasses
import time

import pytest
from tests.domain.context.rules.test_rule_set import rule_set_of

from palimpsest.domain.context.rules import features
from palimpsest.domain.context.rules.detection import detect, read_rulings
from palimpsest.domain.context.rules.forms import LONGEST_SENTENCE
from palimpsest.domain.context.rules.languages import has_han
from palimpsest.domain.context.rules.surroundings import Surroundings
from palimpsest.domain.context.rules.surroundings_words import SURROUNDINGS
from palimpsest.domain.messages import user_message

HABITS = [
    # a plea or an announcement around an order
    "you have to use the factory for new jobs",
    "it would be nice if you could always name the tables you read",
    "a rule for you: one table per migration",
    "could you please always show the query?",
    "that's not right, use the `gulp` task for image conversions",
    "Merk dir, du sollst die Tabellen nicht von Hand ändern",
    "kannst du bitte immer die Abfrage zeigen?",
    "une règle pour toi : une table par migration",
    "sería mejor que siempre mostraras la consulta",
    "记住\uff0c你不应该手动改这些表",
    # duties, measures and quantities of kinds
    "the services must stay small",
    "all amounts in cents",
    "two approvals per release",
    "pro Tabelle nur eine Migration bitte",
    "alle Beträge in Cent",
    "les services doivent rester petits",
    "tous les montants en centimes",
    "los servicios deben ser pequeños",
    "todos los importes en céntimos",
    "一个表只放一个索引",
    # orders whose object is a kind
    "keep queries simple",
    "halte Abfragen einfach",
    "garde les requêtes simples",
    "mantén las consultas simples",
    # what is forbidden or disliked
    "you can't use any binary formats",
    "I can't stand long methods",
    "ich hasse lange Methoden",
    "je déteste les longues méthodes",
    "odio los métodos largos",
    "我讨厌很长的方法",
    # another thought before the break does not make it a single step
    "I have now merged it -- but you should not be editing generated code",
]

SINGLE = [
    "Show me your outline before we begin",
    "Please list the content of each folder - don't shorten.",
    "yes, use Card with round corners",
    "add a check: age must not be negative",
    "back then we had to mail ops before each release",
    "can you always see the border or does it vanish?",
    "can we always expect UTF-8?",
    "ja, nimm Card mit runden Ecken",
    "ändere noch nichts",
    "du hast mir nie geantwortet",
    "Zeig mir den Entwurf, bevor wir anfangen",
    "oui, utilise Card avec des coins ronds",
    "tu n'as jamais répondu",
    "utilisons un cache ici",
    "sí, usa Card con esquinas redondas",
    "no toques nada todavía",
    "usemos una caché aquí",
    "开始写之前先给我看看大纲",
    "这里用个缓存吧",
    "以前每次发布都要问运维",
]

TAKEN_BACK = [
    ("Answer in French.", "Forget about French."),
    ("Answer in French.", "forget French"),
    ("Antworte auf Französisch.", "Vergiss Französisch."),
    ("Réponds en italien.", "Oublie l'italien."),
    ("Responde en italiano.", "Olvídate del italiano."),
    ("用意大利语回答。", "忘了意大利语吧。"),
    ("Use Grunt.", "get rid of Grunt, we use just"),
    ("Use Mercurial.", "nobody uses Mercurial any more"),
    ("Never rebase.", "rebasing is allowed from now on"),
    ("Don't use generators.", "actually, do use generators"),
    ("Ask before renaming tables.", "no need to ask before renaming tables"),
    ("Reply formally.", "you can be casual again"),
    ("Deploy to Heroku.", "deploy to Fly"),
    ("Put helpers in lib.", "put helpers in src/shared"),
    ("Limit answers to five sentences.", "Limit answers to ten sentences."),
    ("Nimm Grunt.", "Grunt können wir rausschmeißen"),
    ("Nie rebasen.", "rebasen ist ab jetzt okay"),
    ("Utilise Grunt.", "Grunt n'est plus utilisé"),
    ("Usa Grunt.", "Grunt ya no se usa"),
    ("用 Grunt。", "Grunt 就取消吧"),
]

KEPT = [
    ("Use Grunt.", "we don't have Grunt on that machine, install it"),
    ("Answer in French.", "I forgot about the French page"),
    ("Use Grunt.", "Grunt is too slow today"),
    ("Use spaces.", "You can use tabs again."),
    ("Nimm Grunt.", "auf dem Rechner gibt es kein Grunt, installier es"),
    ("Utilise Grunt.", "il n'y a pas Grunt ici, installe-le"),
    ("Usa Grunt.", "no hay Grunt en esa máquina, instálalo"),
    ("用 Grunt。", "那台机器上没有 Grunt\uff0c装一下"),
    ("Use Redis for the cache.", "Use Postgres for the queue."),
    ("Write docs in English.", "Write docs in Markdown."),
]


@pytest.mark.parametrize("sentence", HABITS)
def test_a_habit_is_a_rule(sentence: str) -> None:
    (rule,) = detect(user_message(sentence))
    assert rule.text in sentence


@pytest.mark.parametrize(
    ("norm", "tale"),
    [
        ("Invoices go into the ledger folder.", "The invoices went into the ledger folder."),
        ("A plugin comes with a readme.", "The plugin came with a readme."),
        ("Ein Plugin kommt bei uns mit einer Anleitung.", "Das Plugin kam gestern mit einer Anleitung."),
        ("Les factures vont dans le dossier compta.", "Les factures sont parties hier au dossier compta."),
        ("Las facturas van en la carpeta contable.", "Las facturas llegaron ayer a la carpeta contable."),
        ("发票放进账目文件夹。", "发票昨天到了账目文件夹。"),
    ],
)
def test_how_things_are_done_is_a_rule_also_without_a_word_of_duty(norm: str, tale: str) -> None:
    assert [rule.text for rule in detect(user_message(norm))] == [norm]
    assert detect(user_message(tale)) == ()


@pytest.mark.parametrize(
    ("bound", "report"),
    [
        ("The lighthouse server has no internet.", "The lighthouse server had no internet yesterday."),
        ("Our rangers only have Python 3.6.", "Are our rangers on Python 3.6?"),
        ("Im Leuchtturm gibt es kein Internet.", "Im Leuchtturm gab es gestern kein Internet."),
        ("Unsere Förster haben nur Python 3.6.", "Haben unsere Förster noch Python 3.6?"),
        ("Nos gardes forestiers n'ont que Python 3.6.", "Nos gardes forestiers avaient Python 3.6."),
        ("No hay internet en el faro.", "Ayer no había internet en el faro."),
        ("灯塔里没有网络。", "灯塔里昨天没有网络。"),
    ],
)
def test_a_lasting_bound_of_the_surroundings_is_a_rule_and_a_report_of_it_none(bound: str, report: str) -> None:
    assert [rule.text for rule in detect(user_message(bound))] == [bound]
    assert detect(user_message(report)) == ()


@pytest.mark.parametrize("surroundings", SURROUNDINGS.values(), ids=list(SURROUNDINGS))
def test_each_entry_of_a_class_can_be_a_feature_of_a_sentence(surroundings: Surroundings) -> None:
    for field in dataclasses.fields(surroundings):
        for entry in () if field.name == "past" else getattr(surroundings, field.name).features:
            text = entry.replace(" ", "") if has_han(entry) else entry
            assert entry in features.of_sentence(text), f"{field.name}: {entry}"


@pytest.mark.parametrize("sentence", SINGLE)
def test_a_single_step_an_answer_or_the_past_is_none(sentence: str) -> None:
    assert detect(user_message(sentence)) == ()


@pytest.mark.parametrize(("rule", "change"), TAKEN_BACK)
def test_what_is_given_up_needed_no_more_or_allowed_holds_no_more(rule: str, change: str) -> None:
    ledger = rule_set_of("Never delete an invoice.", rule, change)
    held = [entry.text for entry in ledger.open_entries()]
    assert "Never delete an invoice." in held
    assert rule not in held
    assert rule in [entry.text for entry in ledger.entries]


@pytest.mark.parametrize(("rule", "said"), KEPT)
def test_what_only_speaks_of_a_choice_leaves_it(rule: str, said: str) -> None:
    assert rule in [entry.text for entry in rule_set_of(rule, said).open_entries()]


@pytest.mark.parametrize(
    "unit",
    [
        "all a in ",
        "keep as ",
        "x is ",
        "ist jetzt ",
        "a,",
        "no a ",
        "n'a plus ",
        "ya no ",
        "不用",
        "用a",
        "before we ",
        "do ",
        "hat ge",
        "die hat gegegen ",
        "has a ",
        "a ont é",
    ],
)
def test_the_longest_sentence_is_read_in_bounded_time(unit: str) -> None:
    text = (unit * LONGEST_SENTENCE)[:LONGEST_SENTENCE]
    started = time.process_time()
    read_rulings(user_message(text))
    assert time.process_time() - started < 1
