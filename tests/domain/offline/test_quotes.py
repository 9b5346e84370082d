"""Quotes are exact, the same every time, about what was asked, and absent where nothing answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties import examples

from palimpsest.domain.language.words import fold, pieces, words
from palimpsest.domain.messages import MessageId, Role
from palimpsest.domain.offline.files import HEAD_LINES, head_of, hinted_files, named_files, wanted_files
from palimpsest.domain.offline.layout import QUOTE_CHARS
from palimpsest.domain.offline.passages import FileSource, MessageSource, Passage, SourceText
from palimpsest.domain.offline.question import is_request, questions_of
from palimpsest.domain.offline.ranking import MAX_QUOTES, rank

WORDS = st.sampled_from(
    "the a is of cache retry retries port server timeout timeOut time out maxRetries Zürich 30 8080 keeps e.g. Dr. "
    "sends café 日本語 don't it's `x` how many which ? . ! : \n \n\n \t # - | > ``` {} = '".split(" ")
)
TEXTS = st.lists(WORDS, max_size=60).map(" ".join) | st.text(max_size=200)
PATHS = st.sampled_from(["README.md", "src/cache.py", "etc/server.yaml", "data.csv", "Makefile", "a/b.json", "x.rst"])


def folder(**files: str) -> list[SourceText]:
    """`a__b_md` stands for `a/b.md`."""
    return [SourceText(FileSource(path.replace("__", "/").replace("_", ".")), text) for path, text in files.items()]


def places(question: str, texts: list[SourceText]) -> list[str]:
    return [passage.place for passage in rank(question, texts)]


@examples(200)
@given(TEXTS, st.lists(st.tuples(PATHS, TEXTS), max_size=4, unique_by=lambda file: file[0]), TEXTS)
def test_every_quote_is_an_exact_piece_of_its_source(question: str, files: list[tuple[str, str]], said: str) -> None:
    texts = [SourceText(FileSource(path), text) for path, text in files]
    texts.append(SourceText(MessageSource(MessageId(3), Role.USER), said))
    found = rank(question, texts)
    assert len(found) <= MAX_QUOTES
    by_source = {text.source: text.text for text in texts}
    for passage in found:
        whole = by_source[passage.source]
        assert passage.text == passage.text.strip() != ""
        assert len(passage.text) <= QUOTE_CHARS
        starts = [at for at in range(len(whole)) if whole.startswith(passage.text, at)]
        assert passage.line in {whole.count("\n", 0, at) + 1 for at in starts}


@given(TEXTS, st.lists(TEXTS, max_size=4))
def test_the_same_question_gets_the_same_quotes(question: str, contents: list[str]) -> None:
    texts = [SourceText(FileSource(f"f{i}.md"), text) for i, text in enumerate(contents)]
    assert rank(question, texts) == rank(question, texts)


@given(st.lists(TEXTS, max_size=4))
def test_a_question_without_content_words_finds_nothing(contents: list[str]) -> None:
    texts = [SourceText(FileSource(f"f{i}.md"), text) for i, text in enumerate(contents)]
    assert rank("What is it, and how do I do that?", texts) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("retryDelay", "retry_delay"),
        ("HTTPServer", "http server"),
        ("src/retry/delay.py", "src retry delay py"),
        ("RETRIES", "retry"),
        ("Zürich", "zurich"),
        ("the backups were kept", "keep a backup"),
        ("timeout30s", "timeout30s"),
    ],
)
def test_words_are_the_same_however_they_are_written(one: str, other: str) -> None:
    assert sorted(words(one)) == sorted(words(other))


def test_folding_keeps_line_feeds() -> None:
    text = "ÄB\u0130\n\n\ufb01x\u2028y\nz"
    assert fold(text).count("\n") == text.count("\n")


def test_scripts_without_spaces_are_compared_by_pairs() -> None:
    assert set(pieces("日本語")) & set(pieces("本語版")) == {"本語"}


def test_the_line_that_covers_more_of_the_question_comes_first() -> None:
    texts = folder(a_md="The cache is big.\n\nThe cache of the router is cleared on Mondays.\n\nThe router is grey.\n")
    assert places("When is the cache of the router cleared?", texts)[0] == "a.md:3"


def test_rare_words_count_more_than_common_ones() -> None:
    common = "".join(f"The worker number {i} reads jobs from the queue.\n\n" for i in range(30))
    texts = folder(a_md=common, b_md="The watchdog of a worker is named Cerberus.\n")
    assert places("What is the watchdog of the worker?", texts) == ["b.md:1"]


def test_words_scattered_over_a_file_are_no_answer() -> None:
    text = "The gateway is grey.\n\nInvoices are sent on Mondays.\n\nA password has twelve letters.\n"
    assert places("How do I reset the password of the invoice gateway?", folder(a_md=text)) == []


def test_a_heading_tells_what_the_line_below_is_about() -> None:
    text = "# Guide\n\n## Backups\n\nThey are kept for 35 days.\n\n## Logs\n\nThey are kept for 9 days.\n"
    assert places("How long are backups kept?", folder(a_md=text))[0] == "a.md:5"


def test_the_answer_below_a_question_in_a_file_is_quoted() -> None:
    text = "### Which browsers do we support?\n\nFirefox and Safari.\n\n### Who pays?\n\nNobody.\n"
    assert places("Which browsers are supported?", folder(faq_md=text)) == ["faq.md:3"]


def test_a_section_tells_what_a_setting_is_about() -> None:
    text = "[cache]\nsize = 5\n\n[pool]\nsize = 18\n"
    assert places("What is the size of the pool?", folder(a_toml=text))[0] == "a.toml:5"


def test_a_comment_and_the_line_it_explains_are_quoted_together() -> None:
    text = "import x\n\n# How long we wait for the card terminal.\nLIMIT = 45\n\nOTHER = 3\n"
    assert places("How long do we wait for the card terminal?", folder(a_py=text)) == ["a.py:3", "a.py:4"]


def test_a_sentence_that_runs_over_lines_is_quoted_whole() -> None:
    text = "First things first.\nThe gateway gives up on a card terminal\nafter forty seconds. More follows here.\n"
    (passage,) = rank("When does the gateway give up on a card terminal?", folder(a_md=text))
    assert passage.place == "a.md:2-3"
    assert passage.text == "The gateway gives up on a card terminal\nafter forty seconds."


def test_a_long_line_is_quoted_by_the_sentence() -> None:
    text = "The fence is green. " * 15 + "The gate of the yard opens at nine. " + "The roof is red. " * 15
    (passage,) = rank("When does the gate of the yard open?", folder(a_md=text))
    assert passage.text == "The gate of the yard opens at nine."


def test_a_question_for_an_amount_is_not_answered_without_one() -> None:
    texts = folder(a_md="The committee has members from every town.\n", b_md="The chess club has nine members.\n")
    assert places("How many members does the committee have?", texts) == []
    assert places("How many members does the chess club have?", texts) == ["b.md:1"]


def test_an_answer_about_somebody_else_is_no_answer() -> None:
    texts = folder(a_md="The Lisbon office was opened in 2019 by the mayor.\n")
    assert places("When was the Lisbon office opened?", texts) == ["a.md:1"]
    assert places("When was the Madrid office opened?", texts) == []


def test_a_file_that_is_named_comes_before_others() -> None:
    texts = folder(one_toml="line-length = 100\n", two_toml="line-length = 120\n")
    assert places("Which line-length does two.toml set?", texts)[0] == "two.toml:1"


def test_a_definition_comes_before_its_uses() -> None:
    texts = folder(a_py="print(clean_text(a))\n", b_py="x = clean_text(b)\ndef clean_text(raw): ...\n")
    assert places("where is clean_text defined?", texts)[0] == "b.py:2"


def test_the_same_words_are_quoted_once() -> None:
    texts = folder(a_md="The port is 8080.\n", docs__b_md="The port is 8080.\n")
    assert places("Which port is it?", texts) == ["a.md:1"]


def test_a_users_question_is_no_answer_to_a_later_one() -> None:
    asked = SourceText(MessageSource(MessageId(0), Role.USER), "Which port does the staging server use?")
    told = SourceText(MessageSource(MessageId(2), Role.USER), "The staging server uses port 9000.")
    assert [passage.place for passage in rank("Which port does the staging server use?", [asked, told])] == [
        "message 2"
    ]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Which port is it?", True),
        ("show me the log", True),
        ("which port does it use", True),
        ("please explain the cache", True),
        ("Do not use tabs.", False),
        ("When the build fails, call Ann.", False),
        ("The port is 9000.", False),
        ("please always use tabs", False),
    ],
)
def test_requests_are_told_from_statements(sentence: str, expected: bool) -> None:
    assert is_request(sentence) is expected


def test_only_the_asking_sentences_of_a_message_are_looked_up() -> None:
    message = "I am new here. Which port does Dr. No use? And who is on call?\nThanks!"
    assert questions_of(message) == ("Which port does Dr. No use?", "And who is on call?")
    assert questions_of("the retry limit") == ("the retry limit",)


@pytest.mark.parametrize(
    "pasted", ["A" * 200_000, "a." * 100_000, "a/" * 100_000, "_" * 200_000, "why " * 50_000, "'" * 200_000]
)
def test_a_huge_paste_does_not_take_long(pasted: str) -> None:
    texts = folder(a_md="The port is 8080.\n", b_md=f"{pasted[:20_000]}\n")
    message = f"{pasted}\nWhich port is it?"
    assert wanted_files(message, texts) is None
    assert [place for asked in questions_of(message) for place in places(asked, texts)][-1:] == ["a.md:1"]
    assert len(rank(pasted, texts)) <= MAX_QUOTES


FILES = folder(pyproject_toml="[project]\nname = 'x'\n", src__a_py="x = 1\n", src__b__a_py="y = 2\n")
FILES += [SourceText(FileSource("Makefile"), "all:\n\ttrue\n"), SourceText(FileSource("README.md"), "# X\n")]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what is in pyproject.toml?", ("pyproject.toml",)),
        ("show src/a.py", ("src/a.py",)),
        ("Explain a.py please", ("src/a.py", "src/b/a.py")),
        (r"open src\b\a.py", ("src/b/a.py",)),
        ("What's in the Makefile?", ("Makefile",)),
        ("show me the readme", ("README.md",)),
        ("what is in missing.txt?", ()),
        ("which python does pyproject.toml require?", None),
        ("what is in the box?", None),
        ("who are you?", None),
    ],
)
def test_a_question_for_a_file_is_told_from_a_question_about_it(
    question: str, expected: tuple[str, ...] | None
) -> None:
    assert wanted_files(question, FILES) == expected


def test_a_file_that_is_named_with_words_that_tell_little_is_a_hint() -> None:
    assert hinted_files("what name is set in pyproject.toml", FILES) == ("pyproject.toml",)
    assert hinted_files("what salary is in pyproject.toml", FILES) == ()
    assert named_files("compare src/a.py and Makefile", FILES) == {"src/a.py": ("src/a.py",), "Makefile": ("Makefile",)}


def test_the_head_of_a_file_ends_at_a_line_and_tells_how_long_the_file_is() -> None:
    long = SourceText(FileSource("a.txt"), "".join(f"line {i}\n" for i in range(1, 1001)))
    head = head_of(long)
    assert (head.line, head.place, head.n_source_lines) == (1, f"a.txt:1-{HEAD_LINES}", 1000)
    assert head.text.endswith(f"line {HEAD_LINES}")
    assert head_of(SourceText(FileSource("b.txt"), "x\n\n")).n_source_lines == 1
    assert len(head_of(SourceText(FileSource("c.txt"), "z" * 100_000)).text) < 30_000


def test_a_place_names_the_lines_of_a_file_and_the_number_of_a_message() -> None:
    assert Passage(FileSource("a/b.py"), 4, "x\ny", 1.0).place == "a/b.py:4-5"
    assert Passage(MessageSource(MessageId(12), Role.USER), 4, "x\ny", 1.0).place == "message 12"
