"""The proxy of the environment fetches pages when the user says so, and otherwise a failure says that there is one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.clients.web_host import WebHost, response, web_host

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.web import Fetched, Reach, WebAddress, read_address
from palimpsest_clients.pages import PageClient

PAGE = "http://docs.test/a?b=c"
THROUGH = Reach(through_proxy=True)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def client(*addresses: str) -> PageClient:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return addresses

    return PageClient(resolve)


async def fetch(url: str, reach: Reach, of: PageClient) -> Fetched | WebAddress:
    return await of.fetch(read_address(url), reach)


async def refusal(url: str, reach: Reach, of: PageClient) -> str:
    with pytest.raises(InvalidRequest) as caught:
        await fetch(url, reach, of)
    return str(caught.value)


def name_proxy(monkeypatch: pytest.MonkeyPatch, host: WebHost, user: str = "") -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://{user}{host.place}")
    monkeypatch.setenv("HTTPS_PROXY", f"http://{user}{host.place}")


async def test_a_proxy_is_asked_under_the_name_that_it_knows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web_host() as host:
        name_proxy(monkeypatch, host, "ann:zqxsecret@")
        host.answers["http://docs.test:80/a?b=c"] = host.answers[PAGE] = response(b"here")
        found = await fetch(PAGE, THROUGH, client())
        assert isinstance(found, Fetched)
        ((_, headers),) = host.asked
    assert (found.body, found.address.url, headers["host"]) == (b"here", PAGE, "docs.test")
    assert headers["proxy-authorization"].startswith("Basic ")


async def test_a_proxy_that_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web_host() as host:
        host.answers["docs.test:443"] = response(b"", status="407 No")
        name_proxy(monkeypatch, host, "ann:zqxsecret@")
        said = await refusal("https://docs.test/", THROUGH, client())
        assert said == "The proxy of the environment refused to fetch from docs.test."
    said = await refusal("https://docs.test/", THROUGH, client())
    assert said.startswith("docs.test could not be reached through the proxy of the environment.")


@pytest.mark.parametrize(("url", "of"), [(PAGE, client("10.0.0.1")), ("http://intranet/", client())])
async def test_what_this_machine_knows_to_be_private_is_not_asked_through_a_proxy(
    monkeypatch: pytest.MonkeyPatch, url: str, of: PageClient
) -> None:
    async with web_host() as host:
        name_proxy(monkeypatch, host)
        said = await refusal(url, THROUGH, of)
        assert "its own network" in said or "no host intranet" in said
        assert host.asked == []


async def test_what_may_be_private_and_what_needs_no_proxy_is_asked_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with web_host(a=response(b"here")) as host:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # nobody answers there
        url = host.url("/a")
        allowed = Reach(frozenset([host.place]), through_proxy=True)
        assert isinstance(await fetch(url, allowed, client("127.0.0.1")), Fetched)
        monkeypatch.setenv("NO_PROXY", "docs.test")
        assert "its own network" in await refusal(PAGE, THROUGH, client("127.0.0.1"))


async def test_a_failure_says_that_there_is_a_proxy_which_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with web_host() as host:
        assert "proxy" not in await refusal(PAGE, Reach(), client())
        name_proxy(monkeypatch, host)
        said = await refusal(PAGE, Reach(), client())
        assert said.startswith("There is no host docs.test.")
        assert said.endswith("put `web.proxy = true` into your config.toml.")
        assert host.asked == []


async def test_a_proxy_of_another_kind_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://ann:zqxsecret@127.0.0.1:9")
    said = await refusal(PAGE, THROUGH, client())
    assert "begins with http:// or https://" in said
    assert "zqxsecret" not in said
