"""A page that a message mentions is fetched when its user agrees to the host, and becomes text or a sentence."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from tests.services.scripted import Bench, Opener
from tests.services.scripted_editor import ScriptedEditor
from tests.waiting import WAIT_S

from palimpsest.domain.approvals import Answer, ApprovalRequest
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId
from palimpsest.domain.settings.settings import WebSettings
from palimpsest.domain.web import Fetched, Reach, WebAddress, read_address
from palimpsest.machine.extras import Extra, missing
from palimpsest.services.chat import pages
from palimpsest.services.chat.attachments import MAX_BYTES, Snapshot, user_content
from palimpsest.services.chat.mentioned import Mentioning, mentioned, names_in
from palimpsest.services.chat.mentions import Mentions
from palimpsest.services.chat.pages import _WORKER, MAX_PAGES, MAX_SITES, Pages
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.toolbox import TurnScope
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.texts import WorkspaceTexts

ARTICLE = """<!doctype html><html><head><title>Pumps</title><script>evil("zqxscript")</script>
<style>p { color: red }</style></head><body><nav><a href="/">Home</a></nav><main><h1>Pumps</h1>
<p>The pump starts at 40 °C and stops at 80 °C. The controller in the hall checks it every hour.</p>
<pre><code>pump.start(at=40)
pump.stop(at=80)</code></pre><table><tr><th>Name</th></tr><tr><td>hall</td></tr></table>
<script>evil("zqxscript")</script></main></body></html>"""


@dataclass
class Web:
    """What hosts give, by URL."""

    pages: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """The kind, as a host writes it, and the bytes."""
    asked: list[str] = field(default_factory=list)
    reached: list[Reach] = field(default_factory=list)
    leads: dict[str, str] = field(default_factory=dict)
    """Where URLs lead on."""

    async def fetch(self, address: WebAddress, reach: Reach) -> Fetched | WebAddress:
        self.asked.append(address.url)
        self.reached.append(reach)
        if address.url in self.leads:
            return read_address(self.leads[address.url])
        if address.url not in self.pages:
            raise InvalidRequest(f"{address.place} did not give the page.")
        kind, body = self.pages[address.url]
        media_type, _, charset = kind.partition(";")
        return Fetched(address, media_type, charset.removeprefix("charset="), body)


class User(ScriptedEditor):
    """A user who is asked about hosts."""

    async def approve(self, scope: TurnScope, request: ApprovalRequest) -> Answer | None:
        self.asked.append(request)
        if self.gate is not None:
            self.is_asked.set()
            await self.gate.wait()
        return self.answer


TEXT = "https://example.org/a.txt"
FOUND = (TEXT, ("text/plain", b"hello"))


async def desk(bench: Opener, answer: Answer | None = Answer.ONCE) -> tuple[Bench, Web, User]:
    b, web, user = await bench([]), Web(dict([FOUND])), User(answer)
    b.session.folder.fetch_page = web.fetch
    b.session.folder.editors.attach(user)
    return b, web, user


def ways(b: Bench, settings: WebSettings | None = None, conversation: str | None = None) -> Pages:
    conversation_id = b.conversation_id if conversation is None else ConversationId(conversation)
    return Pages(b.session.folder, settings or WebSettings(), conversation_id)


async def taken(b: Bench, message: str, of: Pages | None) -> list[Snapshot]:
    texts = WorkspaceTexts(WorkspaceFiles(b.session.folder.root), {})
    return list((await mentioned(Mentioning(b.session.folder, texts, message, pages=of))).snapshots)


def problem(found: Sequence[Snapshot]) -> str:
    (only,) = [each.problem for each in found if each.problem is not None]
    with pytest.raises(InvalidRequest, match="Nothing was"):
        user_content("message", found)
    return only


# The user's word


async def test_a_page_is_attached_with_its_address_and_its_time_once_the_user_agrees(bench: Opener) -> None:
    b, web, user = await desk(bench)
    (found,) = await taken(b, f"Read (@{TEXT}#part), please.", ways(b))
    assert found.parts[0].text == "hello"
    assert found.label.startswith(f"{TEXT} (fetched 20")
    assert found.label.endswith(" UTC)")
    (asked,) = user.asked
    assert asked.title == "Fetch from example.org what your message mentions?"
    assert asked.shown == TEXT
    assert web.asked == [TEXT]


async def test_a_host_is_asked_about_once_in_a_conversation_and_once_for_all_its_pages(bench: Opener) -> None:
    b, web, user = await desk(bench)
    web.pages["https://example.org/b"] = ("text/markdown", b"# b")
    message = f"@{TEXT} @https://example.org/b @https://Example.org:443/b"
    assert len(await taken(b, message, ways(b))) == 2
    await taken(b, message, ways(b))
    assert [each.shown for each in user.asked] == [f"{TEXT}\nhttps://example.org/b"]
    await taken(b, message, ways(b, conversation="another"))
    assert len(user.asked) == 2


@pytest.mark.parametrize("answer", [Answer.DENY, None])
async def test_without_the_users_word_nothing_is_fetched_or_sent(bench: Opener, answer: Answer | None) -> None:
    b, web, user = await desk(bench, answer)
    assert "because you did not agree" in problem(await taken(b, f"@{TEXT}", ways(b)))
    assert "because you did not agree" in problem(await taken(b, f"@{TEXT}", ways(b)))
    assert web.asked == []
    assert len(user.asked) == 2


async def test_an_answer_for_good_is_kept_and_can_be_taken_back(bench: Opener) -> None:
    b, web, user = await desk(bench, Answer.NEVER)
    folder = b.session.folder
    await taken(b, f"@{TEXT}", ways(b))
    assert "never fetched" in problem(await taken(b, f"@{TEXT}", ways(b, conversation="another")))
    assert (len(user.asked), web.asked) == (1, [])
    approvals = Approvals(folder.store, folder.editors, folder.trust)
    (kept,) = await approvals.rules()
    await approvals.revoke(kept.number)
    user.answer = Answer.ALWAYS
    await taken(b, f"@{TEXT}", ways(b, conversation="third"))
    assert (await taken(b, f"@{TEXT}", ways(b, conversation="fourth")))[0].problem is None
    assert len(user.asked) == 2


async def test_all_hosts_are_agreed_to_before_one_is_asked(bench: Opener) -> None:
    b, web, user = await desk(bench)

    async def second_no(question: str) -> bool:
        return "example.org" in question

    user.answer = None
    of = Pages(b.session.folder, WebSettings(), b.conversation_id, second_no)
    assert "other.example" in problem(await taken(b, f"@{TEXT} @https://other.example/", of))
    assert web.asked == []


async def test_an_editor_that_shows_no_approvals_asks_in_words(bench: Opener) -> None:
    b, _, _ = await desk(bench, None)
    questions: list[str] = []

    async def agree(question: str) -> bool:
        questions.append(question)
        return True

    of = Pages(b.session.folder, WebSettings(), b.conversation_id, agree)
    assert (await taken(b, f"@{TEXT}", of))[0].problem is None
    assert questions == [f"Fetch from example.org what your message mentions? {TEXT}"]


async def test_a_host_of_the_settings_needs_no_question(bench: Opener) -> None:
    b, web, user = await desk(bench, Answer.DENY)
    settings = WebSettings(hosts=("Example.org",), allow_private=("localhost:8000",))
    assert (await taken(b, f"@{TEXT}", ways(b, settings)))[0].problem is None
    assert (user.asked, web.reached) == ([], [Reach(frozenset({"localhost:8000"}))])


async def test_a_message_that_its_user_did_not_write_fetches_nothing(bench: Opener) -> None:
    b, web, user = await desk(bench)
    assert "only for a message that you typed" in problem(await taken(b, f"@{TEXT}", None))
    assert (user.asked, web.asked) == ([], [])


async def test_nothing_is_fetched_for_a_message_that_cannot_be_sent(bench: Opener) -> None:
    b, web, user = await desk(bench)
    assert "Nothing in this folder defines" in problem(await taken(b, f"@{TEXT} @symbol:nowhere", ways(b)))
    many = " ".join(f"@https://example.org/{n}" for n in range(MAX_PAGES + 1))
    assert f"at most {MAX_PAGES} pages" in problem(await taken(b, many, ways(b)))
    assert "a name or a password" in problem(await taken(b, f"@{TEXT} @https://u:p@example.org/", ways(b)))
    assert (user.asked, web.asked) == ([], [])


async def test_a_message_is_dropped_while_its_user_thinks(bench: Opener) -> None:
    b, web, user = await desk(bench)
    user.gate = asyncio.Event()
    waiting = asyncio.create_task(taken(b, f"@{TEXT}", ways(b)))
    await user.is_asked.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (web.asked, b.session.folder.agreed_hosts) == ([], set())


async def test_one_page_that_cannot_be_fetched_stops_the_message(bench: Opener) -> None:
    b, _, _ = await desk(bench)
    found = await taken(b, f"@{TEXT} @https://example.org/missing", ways(b))
    assert problem(found) == "example.org did not give the page."


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("See @https://en.wikipedia.org/wiki/Pump_(machine).", ["https://en.wikipedia.org/wiki/Pump_(machine)"]),
        ("(see @https://a.org/x)", ["https://a.org/x"]),
        ("(@https://a.org/x_(y)), then", ["https://a.org/x_(y)"]),
        ('@"https://a.org/x" @https://a.org/?a=[1]!', ["https://a.org/x", "https://a.org/?a=[1]"]),
        ("https://a.org/ and me@https://a.org/", []),
        ("@file(1).", ["file(1"]),
    ],
)
def test_an_address_ends_where_its_sentence_goes_on(message: str, expected: list[str]) -> None:
    assert names_in(message) == expected


async def test_a_page_is_completed(bench: Opener) -> None:
    b, _, _ = await desk(bench)
    found = await Mentions(WorkspaceFiles(b.session.folder.root)).complete("@htt", 4, b.session.folder)
    assert [each.insert_text for each in found.items] == ["@https://"]


# What becomes of a page


async def text_of(bench: Opener, kind: str, body: bytes) -> str:
    b, web, _ = await desk(bench)
    web.pages[TEXT] = (kind, body)
    (found,) = await taken(b, f"@{TEXT}", ways(b))
    return found.parts[0].text if found.problem is None else problem([found])


async def test_a_web_page_becomes_its_text(bench: Opener) -> None:
    text = await text_of(bench, "text/html;charset=utf-8", ARTICLE.encode())
    assert "The pump starts at 40 °C" in text
    assert "pump.start(at=40)\npump.stop(at=80)" in text
    assert "| hall |" in text
    assert "zqxscript" not in text
    assert "color" not in text


@pytest.mark.parametrize(
    ("kind", "body", "expected"),
    [
        ("text/plain", "grün".encode(), "grün"),
        ("text/plain;charset=latin-1", "grün".encode("latin-1"), "grün"),
        ("text/plain;charset=utf-8", "grün".encode("latin-1"), "gr\ufffdn"),
        ("text/plain", b"a" + "ü".encode() * 40_000, "a" + "ü" * 40_000),  # read in pieces
        ("text/plain", "grü".encode()[:-1], "gr\ufffd"),
        ("text/plain;charset=latin-1", b"\xef\xbb\xbf" + "grün".encode(), "grün"),
        ("text/plain;charset=utf-16", "grün".encode("utf-16"), "grün"),
        ("text/plain;charset=punycode", b"abc", "abc"),
        ("text/plain;charset=zlib", b"abc", "abc"),
        ("text/plain;charset=iso-8859-99", b"abc", "abc"),
        ("text/plain;charset=\x00", b"abc", "abc"),
        ("", b"no kind", "no kind"),
        ("application/json", b'{"a": 1}', '{"a": 1}'),
        ("application/problem+json", b"{}", "{}"),
        ("text/markdown", b"# A\n<script>", "# A\n<script>"),
        ("text/html", b"<body><p>without the outer tag, as is allowed</p>", "without the outer tag, as is allowed"),
        ("text/html", b"<script>x='<body'</script><p>some text</p>", "some text"),
        ("text/html", b"<meta charset='latin-1'><p>gr\xfcn ist die Pumpe</p>", "grün ist die Pumpe"),
    ],
)
async def test_a_text_is_read_whatever_is_said_of_it(bench: Opener, kind: str, body: bytes, expected: str) -> None:
    assert (await text_of(bench, kind, body)).strip() == expected


@pytest.mark.parametrize(
    ("kind", "body", "sentence"),
    [
        ("application/pdf", b"%PDF", "'application/pdf', and only web pages and texts"),
        ("image/png", b"x", "'image/png'"),
        ("application/octet-stream", b"x", "'application/octet-stream'"),
        ("text/plain", b"a\0b", "is no text"),
        ("", b"\x7fELF\0", "is no text"),
        ("text/plain", b"", "The page of example.org has no text."),
        ("text/html", b" \n", "has no text. It may be made by a script"),
        ("text/html", b"<p>" + b"<div>" * 50_000 + b"deep", "has no text"),  # deeper than its parser goes
        ("text/html", b"<html><script>document.write('x')</script></html>", "may be made by a script"),
        ("text/plain", b"x" * (MAX_BYTES + 1), f"at most {MAX_BYTES:,}"),
    ],
)
async def test_what_is_no_text_is_refused_in_a_sentence(bench: Opener, kind: str, body: bytes, sentence: str) -> None:
    assert sentence in await text_of(bench, kind, body)


async def test_a_page_whose_main_part_takes_too_long_is_taken_whole(
    bench: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_WAYS", (("main", 0.01), ("all", WAIT_S)))
    body = b"<p>Some <b>text</b> of a <a href='x'>page</a> here.</p>" * 20_000
    assert "Some text of a page here." in (await text_of(bench, "text/html", body))[:200]


INTRICATE = "<p " + " ".join(f"a{n}=1" for n in range(300_000)) + ">text</p>"
"""It takes longer than is waited for."""


def workers() -> list[psutil.Process]:
    return [each for each in psutil.Process().children() if "page_text.py" in " ".join(each.cmdline())]


async def until_begun() -> psutil.Process:
    """The process that takes out a text."""
    async with asyncio.timeout(WAIT_S):
        while not (found := workers()):
            await asyncio.to_thread(psutil.cpu_percent, 0.05)
    return found[0]


async def test_a_cancelled_message_leaves_no_process(bench: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_WAYS", (("main", WAIT_S),))
    b, web, _ = await desk(bench)
    web.pages[TEXT] = ("text/html", INTRICATE.encode())
    waiting = asyncio.create_task(taken(b, f"@{TEXT}", ways(b)))
    worker = await until_begun()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not worker.is_running()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit of its time ends it")
def test_the_process_ends_with_a_server_that_is_killed(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(INTRICATE)
    start = (
        f"import subprocess; subprocess.run({[sys.executable, '-I', str(_WORKER), 'main']}, stdin=open({str(page)!r}))"
    )
    with subprocess.Popen([sys.executable, "-c", start]) as server:
        deadline = time.monotonic() + WAIT_S
        while not (found := psutil.Process(server.pid).children()) or found[0].cpu_times().user < 1:
            assert time.monotonic() < deadline
            psutil.cpu_percent(0.05)
        server.kill()
        found[0].wait(WAIT_S)
        assert found[0].is_running() is False


async def test_without_the_extra_the_user_is_told_how_to_get_it(bench: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert "too intricate" in await text_of(bench, "text/html", ARTICLE.encode())
    assert await text_of(bench, "text/plain", b"plain") == "plain"
    monkeypatch.undo()
    monkeypatch.setattr(pages, "_ISOLATED", ("-I", "-S"))  # without what is installed
    assert await text_of(bench, "text/html", ARTICLE.encode()) == missing(Extra.WEB)


# Where a page leads on

OTHER = "https://other.example/b"


async def leading(bench: Opener, answer: Answer = Answer.ONCE) -> tuple[Bench, Web, User]:
    b, web, user = await desk(bench, answer)
    web.leads[TEXT] = OTHER
    web.pages[OTHER] = ("text/plain", b"there")
    return b, web, user


async def test_another_site_is_asked_about_and_named(bench: Opener) -> None:
    b, web, user = await leading(bench)
    (found,) = await taken(b, f"@{TEXT}", ways(b, WebSettings(allow_private=("other.example",))))
    assert found.label.startswith(f"{TEXT} (fetched ")
    assert found.label.endswith("led on to https://other.example/b)")
    assert [each.title for each in user.asked][1] == "example.org leads on to other.example. Fetch the page from there?"
    assert (user.asked[1].shown, web.asked) == (OTHER, [TEXT, OTHER])
    assert web.reached[1] == Reach()  # allowed when it is mentioned alone
    await taken(b, f"@{TEXT} @{OTHER}", ways(b))
    assert len(user.asked) == 2


async def test_another_site_without_a_word_is_not_asked(bench: Opener) -> None:
    b, web, user = await leading(bench, Answer.DENY)
    settings = WebSettings(hosts=("example.org",))
    assert "Nothing was fetched from other.example" in problem(await taken(b, f"@{TEXT}", ways(b, settings)))
    assert (web.asked, len(user.asked)) == ([TEXT], 1)


async def test_a_never_counts_wherever_a_page_leads_on_and_before_all_else(bench: Opener) -> None:
    b, web, user = await leading(bench)
    await taken(b, f"@{TEXT}", ways(b))  # both are agreed to in this conversation
    user.answer = Answer.NEVER
    await taken(b, f"@{OTHER}", ways(b, conversation="another"))
    settings = WebSettings(hosts=("other.example",))
    for message in (f"@{TEXT}", f"@{OTHER}", "@https://www.other.example/c"):
        assert "pages of other.example are never fetched" in problem(await taken(b, message, ways(b, settings)))
    assert web.asked == [TEXT, OTHER, TEXT]


async def test_an_always_that_is_taken_back_counts_no_more(bench: Opener) -> None:
    b, _, user = await desk(bench, Answer.ALWAYS)
    folder = b.session.folder
    await taken(b, f"@{TEXT}", ways(b))
    approvals = Approvals(folder.store, folder.editors, folder.trust)
    await approvals.revoke((await approvals.rules())[0].number)
    user.answer = Answer.DENY
    assert "because you did not agree" in problem(await taken(b, f"@{TEXT}", ways(b)))


async def test_sites_in_a_circle_end(bench: Opener) -> None:
    b, web, _ = await leading(bench)
    web.leads[OTHER] = TEXT
    assert f"more than {MAX_SITES} sites" in problem(await taken(b, f"@{TEXT}", ways(b)))
    assert len(web.asked) == MAX_SITES
