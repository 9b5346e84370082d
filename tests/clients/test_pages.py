"""A page is fetched only from where it may be, whatever names, redirects and hosts do, and no more than is kept."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Sequence
from contextlib import suppress

import pytest
from tests.clients.web_host import Answer, WebHost, leads_to, response, web_host
from tests.waiting import WAIT_S

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.web import Fetched, Reach, read_address
from palimpsest_clients.page_network import MAX_OVERHEAD
from palimpsest_clients.pages import MAX_BYTES, MAX_REDIRECTS, PageClient, own_address, resolve

PRIVATE = "is an address of this machine or its own network"


class Names:
    """What hosts are called: for each name, the addresses of each time it is looked up; the last ones stay."""

    def __init__(self, **names: list[list[str]]) -> None:
        self.names = {name.replace("_", "."): list(each) for name, each in names.items()}
        self.n_asked = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.n_asked += 1
        known = self.names.get(host, [[host]])
        if known == [["nowhere.test"]]:
            raise OSError("no such host")
        return known.pop(0) if len(known) > 1 else known[0]


async def fetch(host: WebHost, path: str, client: PageClient | None = None) -> Fetched:
    found = await (client or PageClient()).fetch(read_address(host.url(path)), reaching(host.place))
    assert isinstance(found, Fetched)
    return found


def reaching(*places: str) -> Reach:
    return Reach(frozenset(places))


async def test_a_page_comes_with_its_kind_and_nothing_of_the_user_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # nobody answers there
    async with web_host(a=response(b"hello", "Text/Plain; x=1; Charset='UTF-8'")) as host:
        found = await fetch(host, "/a")
        assert (found.media_type, found.charset, found.body) == ("text/plain", "UTF-8", b"hello")
        ((path, headers),) = host.asked
    assert path == "/a"
    assert headers == {
        "host": host.place,
        "user-agent": "palimpsest",
        "accept": "text/html, text/markdown, text/plain, application/json, */*;q=0.5",
        "accept-encoding": "gzip",
        "connection": "close",
    }


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "[::ffff:127.0.0.1]"])
async def test_no_spelling_of_this_machine_is_asked(name: str) -> None:
    async with web_host(a=response(b"secret")) as host:
        with pytest.raises(InvalidRequest, match=PRIVATE):
            await PageClient().fetch(read_address(host.url("/a", name)), Reach())
        assert host.asked == []


async def test_one_private_address_of_several_is_enough_to_refuse() -> None:
    names = Names(mixed_test=[["93.184.216.34", "127.0.0.1"]])
    async with web_host(a=response(b"secret")) as host:
        with pytest.raises(InvalidRequest, match=PRIVATE):
            await PageClient(names).fetch(read_address(host.url("/a", "mixed.test")), Reach())
        assert host.asked == []


async def test_a_name_is_looked_up_once_and_the_connection_goes_to_what_was_checked() -> None:
    """The name means nothing to the system's resolver, and something else the second time."""
    names = Names(turning_test=[["127.0.0.1"], ["10.0.0.1"]])
    async with web_host(a=response(b"here")) as host:
        place = f"turning.test:{host.port}"
        found = await PageClient(names).fetch(read_address(f"http://{place}/a"), reaching(place))
        assert isinstance(found, Fetched)
        assert found.body == b"here"
        assert host.asked[0][1]["host"] == place
    assert names.n_asked == 1


async def test_another_site_is_not_asked_without_a_word_of_the_user() -> None:
    names = Names(first_test=[["127.0.0.1"]])
    async with web_host(a=response(b"secret")) as inner, web_host(a=leads_to(inner.url("/a"))) as outer:
        place = f"first.test:{outer.port}"
        found = await PageClient(names).fetch(read_address(f"http://{place}/a"), reaching(place, inner.place))
        assert found == read_address(inner.url("/a"))
        assert (len(outer.asked), inner.asked) == (1, [])


async def test_a_redirect_to_the_same_site_under_www_needs_no_word_but_its_own_leave_to_be_private() -> None:
    names = Names(first_test=[["127.0.0.1"]], www_first_test=[["127.0.0.1"]])
    async with web_host() as host:
        place = f"first.test:{host.port}"
        host.answers["/a"] = leads_to(f"http://www.{place}/b")
        with pytest.raises(InvalidRequest, match=f"www.{place} {PRIVATE}"):
            await PageClient(names).fetch(read_address(f"http://{place}/a"), reaching(place))


async def test_a_redirect_is_checked_by_what_its_name_means_then() -> None:
    names = Names(turning_test=[["127.0.0.1"], ["127.0.0.2"]])
    async with web_host() as host:
        place = f"turning.test:{host.port}"
        host.answers["/a"] = leads_to("/b")
        with pytest.raises(InvalidRequest, match="could not be reached"):
            # allowed by its name, so asked: but at the new address, where nobody is
            await PageClient(names).fetch(read_address(f"http://{place}/a"), reaching(place))
        assert [path for path, _ in host.asked] == ["/a"]


async def test_redirects_on_one_host_are_followed_without_its_cookies() -> None:
    async with web_host(a=leads_to("b?x=1#there"), c=response(b"end")) as host:
        host.answers["/b?x=1"] = leads_to("../c", "308 Permanent Redirect")
        found = await fetch(host, "/a")
        assert (found.body, found.address.url) == (b"end", host.url("/c"))
        assert all("cookie" not in headers and "referer" not in headers for _, headers in host.asked)


async def test_redirects_in_a_circle_end() -> None:
    async with web_host(a=leads_to("/a")) as host:
        with pytest.raises(InvalidRequest, match=f"leads on more than {MAX_REDIRECTS} times"):
            await fetch(host, "/a")
        assert len(host.asked) == MAX_REDIRECTS + 1


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("file:///etc/passwd", "does not begin with http"),
        ("ftp://example.org/", "does not begin with http"),
        ("http://ann:zqxsecret@example.org/", "a name or a password"),
        ("http://[::1", "is no address"),
    ],
)
async def test_a_redirect_to_no_page_is_refused(target: str, sentence: str) -> None:
    async with web_host(a=leads_to(target)) as host:
        with pytest.raises(InvalidRequest, match=sentence) as caught:
            await fetch(host, "/a")
    assert "zqxsecret" not in str(caught.value)


@pytest.mark.parametrize(
    ("own", "is_refused"),
    [(["2600::9:1"], True), (["2600:0:0:1::1"], False), (None, False)],
    ids=["its", "other", "no"],
)
async def test_a_public_address_of_this_machines_own_network_is_not_public(
    own: list[str] | None, is_refused: bool
) -> None:
    """With IPv6 every printer of a network has one."""
    names = Names(printer_test=[["2600::5"]])
    client = PageClient(names, timeout_s=0.2, own_address=lambda _: None if own is None else own[0])
    with pytest.raises(InvalidRequest) as caught:
        await client.fetch(read_address("http://printer.test/"), Reach())
    assert (PRIVATE in str(caught.value)) is is_refused


def test_the_own_address_is_found_without_a_word_on_the_network() -> None:
    assert own_address("127.0.0.1") == "127.0.0.1"
    assert own_address("no address") is None


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD)
    while True:
        writer.write(b"x" * 65_536)
        await writer.drain()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()  # until the other end leaves


async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD + b"x")
    await reader.read()


async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A byte at a time, for ever: no single wait is long."""
    writer.write(HEAD)
    while not reader.at_eof():
        writer.write(b"x")
        await writer.drain()
        with suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await reader.read(1)


async def in_crumbs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(HEAD.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n"))
    while True:
        writer.write(b"1\r\nx\r\n" * 10_000)
        await writer.drain()


async def never_final(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000)
        await writer.drain()


@pytest.mark.parametrize("answer", [in_crumbs, never_final])
async def test_a_page_that_costs_more_than_it_brings_is_left(answer: Answer) -> None:
    """What takes a second of work for some hundred kilobytes, and lets nothing else run."""
    n_between, is_over = 0, False

    async def other_work() -> None:
        nonlocal n_between
        while not is_over:
            await asyncio.sleep(0)
            n_between += 1

    async with web_host(a=answer) as host:
        other = asyncio.create_task(other_work())
        with pytest.raises(InvalidRequest, match=f"{host.place} sends more around the page than the page"):
            await fetch(host, "/a", PageClient(timeout_s=WAIT_S))
        is_over = True
        await other
    assert n_between > MAX_OVERHEAD // 4096  # between all that was read


async def test_an_endless_page_is_not_read_further_than_it_is_kept() -> None:
    async with web_host(a=endless) as host:
        with pytest.raises(InvalidRequest, match=f"more than {MAX_BYTES:,} bytes"):
            await fetch(host, "/a")
        async with asyncio.timeout(WAIT_S):
            await host.is_closed.wait()


@pytest.mark.parametrize("answer", [silent, half, slow])
async def test_a_host_that_takes_its_time_is_left(answer: Answer) -> None:
    async with web_host(a=answer) as host:
        with pytest.raises(InvalidRequest, match=f"{host.place} did not send the page within 0 s"):
            await fetch(host, "/a", PageClient(timeout_s=0.3))


async def test_a_resolver_that_takes_its_time_is_left() -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return ()

    with pytest.raises(InvalidRequest, match=r"example\.org did not send the page"):
        await PageClient(never, timeout_s=0.05).fetch(read_address("https://example.org/"), Reach())


async def test_a_cancelled_fetch_leaves_the_host() -> None:
    async with web_host(a=half) as host:
        task = asyncio.create_task(fetch(host, "/a"))
        async with asyncio.timeout(WAIT_S):
            await host.is_asked.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await host.is_closed.wait()


def packed(body: bytes, packing: str = "gzip") -> bytes:
    return response(body, more=f"Content-Encoding: {packing}\r\n")


async def test_a_packed_page_is_unpacked() -> None:
    async with web_host(a=packed(gzip.compress(b"hello" * 100)), b=packed(gzip.compress(b""))) as host:
        assert (await fetch(host, "/a")).body == b"hello" * 100
        assert (await fetch(host, "/b")).body == b""


def bomb() -> bytes:
    """Some kilobytes that unpack to 64 MiB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(64)), packer.flush()])


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (packed(bomb()), f"more than {MAX_BYTES:,} bytes"),
        (packed(b"no gzip"), "cannot be unpacked"),
        (packed(gzip.compress(b"hello" * 100)[:-9]), "broke off"),
        (packed(b"x", "br"), "not asked for"),
        (response(b"x" * 5)[:-2], "broke off"),
        (b"garbage\r\n\r\n", "broke off"),
        (b"", "broke off"),
        (response(b"", status="404 Not Found"), r"answered 404 \(Not Found\)"),
        (response(b"", status="999 \x1b[31m"), "answered 999"),
        (response(b"", status="304 Not Modified"), "answered 304"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000 + b"\r\n", "broke off"),
    ],
)
async def test_what_is_no_whole_page_is_refused_in_a_sentence(answer: bytes, sentence: str) -> None:
    async with web_host(a=answer) as host:
        with pytest.raises(InvalidRequest, match=sentence) as caught:
            await fetch(host, "/a")
        assert str(caught.value).startswith((host.place, f"The page of {host.place}"))
        assert "\x1b" not in str(caught.value)


async def test_a_host_that_is_not_there_is_named() -> None:
    async with web_host() as host:
        pass
    with pytest.raises(InvalidRequest, match=f"{host.place} could not be reached"):
        await fetch(host, "/a")
    with pytest.raises(InvalidRequest, match=r"no host nowhere\.test"):
        await PageClient(Names()).fetch(read_address("https://nowhere.test/"), Reach())


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    async with web_host(a=response(b"here")) as host:
        names = Names(two_test=[["::1", "127.0.0.1"]])  # the host listens on one of them
        place = f"two.test:{host.port}"
        found = await PageClient(names).fetch(read_address(f"http://{place}/a"), reaching(place))
        assert isinstance(found, Fetched)
        assert found.body == b"here"


async def test_this_machines_resolver_knows_this_machine() -> None:
    assert set(await resolve("localhost", 80)) <= {"127.0.0.1", "::1"}
