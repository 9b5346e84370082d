"""Which addresses are pages, in which spelling, and which hosts belong to the public internet."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.web import is_public, is_web, read_address

PRIVATE = """
127.0.0.1 127.9.9.9 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 100.100.100.200
168.63.129.16 192.0.0.192 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 0.0.0.0 0.1.2.3 224.0.0.1 239.1.1.1 240.0.0.1
255.255.255.255 ::1 :: fe80::1 fe80::1%eth0 2606:4700::1%eth0 fec0::1 fc00::1 fd00:ec2::254 ff02::1 2001:db8::1
::ffff:127.0.0.1 ::ffff:169.254.169.254 ::127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::808:808
2002:7f00:1:: 2002:c0a8:101:: 2001:0:7f00:1:: 127.1 2130706433 0x7f000001 localhost 8.8.8.8/32
""".split()
PUBLIC = "8.8.8.8 93.184.216.34 172.32.0.1 100.128.0.1 2606:4700:4700::1111 ::ffff:8.8.8.8 64:ff9b::808:808".split()


@pytest.mark.parametrize("ip", [*PRIVATE, ""])
def test_nothing_of_this_machine_its_network_or_its_cloud_is_public(ip: str) -> None:
    assert not is_public(ip)


@pytest.mark.parametrize("ip", PUBLIC)
def test_hosts_of_the_internet_are_public(ip: str) -> None:
    assert is_public(ip)


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("HTTPS://Docs.Python.org:443/3/?q=ä#top", "https://docs.python.org/3/?q=%C3%A4"),
        ("http://localhost:8000", "http://localhost:8000/"),
        ("http://example.org.:80/a%20b", "http://example.org/a%20b"),
        ("http://münchen.de/ü", "http://xn--mnchen-3ya.de/%C3%BC"),
        ("http://[0:0::1]:8080/x", "http://[::1]:8080/x"),
        ("https://en.wikipedia.org/wiki/Pump_(machine)", "https://en.wikipedia.org/wiki/Pump_(machine)"),
    ],
)
def test_an_address_has_one_spelling(written: str, url: str) -> None:
    assert is_web(written)
    address = read_address(written)
    assert address.url == url
    assert read_address(url) == address


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("http://ann@example.org/", "a name or a password"),
        ("http://ann:zqxsecret@example.org/", "a name or a password"),
        ("http://@example.org/", "a name or a password"),
        ("http://example.org\\@evil.example/", "is no address"),
        ("http://exa mple.org/", "is no address"),
        ("http://exa\tmple.org/", "is no address"),
        ("http://", "is no address"),
        ("http:///path", "is no address"),
        ("http://a..b/", "is no address"),
        ("http://stra\u00dfe.de/", "is no address"),  # browsers go to another host than strasse.de
        ("http://example.org:99999/", "is no address"),
        ("http://example.org:0/", "is no address"),
        ("http://[fe80::1%25eth0]/", "is no address"),
        ("http://" + "a" * 64 + ".org/", "is no address"),
        ("file:///etc/passwd", "does not begin with http"),
        ("http://example.org/" + "a" * 2_000, "may have at most"),
    ],
)
def test_what_is_no_address_of_a_page_is_refused(written: str, sentence: str) -> None:
    with pytest.raises(InvalidRequest, match=sentence):
        read_address(written)


@given(st.text(max_size=40), st.text(alphabet="@:/?#[]\\%.a1 ", max_size=20))
def test_whatever_is_written_it_is_an_address_or_refused(free: str, odd: str) -> None:
    for text in (free, f"http://{free}", f"https://a.org{odd}", f"http://{odd}"):
        try:
            address = read_address(text)
        except InvalidRequest:
            continue
        assert address.url.isascii()
        assert read_address(address.url) == address


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        (["Example.org"], True),
        (["example.org:8000"], True),
        (["example.org:80"], False),
        (["www.example.org"], True),
        (["org", "www2.example.org", "example.org/x"], False),
        ([], False),
    ],
)
def test_a_host_is_named_with_its_port_or_without_one(places: list[str], expected: bool) -> None:
    assert read_address("http://example.org:8000/x").is_among(places) is expected
