"""The same repository has the same name, however its address is written, and no name tells a password or a place
here."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.domain.sharing.repository import RepositoryIdentity, normalized_remote

SAME = (
    "https://example.org/ann/app",
    "https://example.org/ann/app.git",
    "https://example.org/ann/app/",
    "https://example.org/ann/app.git/",
    "https://example.org//ann//app.git",
    "https://example.org/ann/./app",
    "http://example.org/ann/app.git",
    "https://EXAMPLE.org/ann/app.git",
    "HTTPS://Example.ORG:443/ann/app.git",
    "https://example.org./ann/app",
    "https://ann@example.org/ann/app.git",
    "https://ann:very-secret@example.org/ann/app.git",
    "https://ann:p%40ss@example.org/ann/app.git",
    "https://ann:p@ss@example.org/ann/app.git",
    "https://oauth2:x@example.org:443/ann/app.git?private_token=x#top",
    "ssh://git@example.org/ann/app.git",
    "ssh://git@example.org:22/ann/app.git",
    "git+ssh://git@example.org/ann/app.git",
    "git://example.org:9418/ann/app",
    "git@example.org:ann/app.git",
    "git@EXAMPLE.org:/ann/app.git/",
    "example.org:ann/app",
    "ann:very-secret@example.org:ann/app.git",
    "[example.org]:ann/app",
    "  https://example.org/ann/app.git\n",
)


@pytest.mark.parametrize("url", SAME)
def test_all_spellings_of_one_place_have_one_name(url: str) -> None:
    assert normalized_remote(url) == "example.org/ann/app"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://example.org:8443/app.git", "example.org:8443/app"),
        ("ssh://git@example.org:2222/app.git", "example.org:2222/app"),
        ("ssh://git@example.org:443/app.git", "example.org:443/app"),
        ("example.org:2222/app.git", "example.org/2222/app"),
        ("https://example.org/Ann/App", "example.org/Ann/App"),
        ("https://example.org/a%20b.git", "example.org/a b"),
        ("git@example.org:a b.git", "example.org/a b"),
        ("ssh://git@[2001:DB8::1]:2222/app", "[2001:db8::1]:2222/app"),
        ("git@[2001:db8::1]:app", "[2001:db8::1]/app"),
        ("gh:ann/app", "gh/ann/app"),
        ("https://example.org/ann/app.git.git", "example.org/ann/app.git"),
        ("https://example.org/ann/.git", "example.org/ann"),
        ("https://bücher.example/app", "bücher.example/app"),
    ],
)
def test_what_differs_keeps_its_difference(url: str, name: str) -> None:
    assert normalized_remote(url) == name


@pytest.mark.parametrize(
    "url",
    [
        *("", " ", "app", ".", "..", "../app", "./app.git", "/srv/git/app.git", "~/app", "//server/share/app"),
        *("file:///srv/app.git", "file://server/srv/app.git", "FILE:///x", "a/b:c", "./a:b"),
        *("C:\\code\\app", "C:/code/app", "c:app", "\\\\server\\share\\app.git", "git@example.org:a\\b"),
        *("http://localhost:3000/app", "https://127.0.0.1/app", "ssh://[::1]/app", "localhost:app", "x.localhost:app"),
        *("https://example.org", "https://example.org/", "example.org:", "https://example.org/.git"),
        *("https:///app", "https://example.org:port/app", "https://[broken/app", "https://[::1", "://x/y"),
        *("ext::sh -c 'echo x'", "example.org::app", "https://example.org/a/../b", "example.org:../app"),
        *("https://example.org/a\x00b", "https://example.org/a%0Ab", "example.org:a\u202eb", "exa mple.org:app"),
        # Passwords in the wrong place.
        "https://example.org/ann:secret@example.org/app",
        "https://example.org/" + "ghp_" + "aB3dE5gH1jK2mN4pQ6rS8tU0vW7xY9zA1bC2" + "/app",
        "https://example.org/" + "a" * 1_000,
    ],
)
def test_places_here_and_what_is_no_address_have_no_name(url: str) -> None:
    assert normalized_remote(url) == ""


@given(st.text(st.characters(exclude_characters="/@ "), min_size=1).map("secret".__add__))
def test_no_password_is_in_a_name(password: str) -> None:
    for url in (f"https://ann:{password}@example.org/app", f"ann:{password}@example.org:app"):
        assert "secret" not in normalized_remote(url)


@given(st.text())
def test_a_name_is_its_own_name(url: str) -> None:
    name = normalized_remote(url)
    assert not name or normalized_remote(f"https://{name}") in (name, "", name.removesuffix(".git"))


def test_two_equal_parts_tell_a_repository_and_one_asks() -> None:
    here = RepositoryIdentity("a" * 40, "example.org/app", "svc")
    assert here.is_same("a" * 40, "example.org/app")
    assert not here.is_same("a" * 40, "example.org/other")
    assert here.is_alike("a" * 40, "example.org/other")
    assert here.is_alike("b" * 40, "example.org/app")
    assert not here.is_alike("b" * 40, "example.org/other")
    nothing = RepositoryIdentity("", "")
    assert nothing.is_empty
    assert not nothing.is_same("", "")
    assert not nothing.is_alike("", "")


def test_a_folder_that_became_another_repository_is_noticed() -> None:
    here = RepositoryIdentity("a" * 40, "example.org/app", "svc")
    assert here.still_is(here)
    assert RepositoryIdentity("", "example.org/app", "svc").still_is(here)
    for other in (("b" * 40, "example.org/app", "svc"), ("a" * 40, "example.org/x", "svc"), ("", "", "svc")):
        assert not RepositoryIdentity(*other).still_is(here)
    assert not RepositoryIdentity("a" * 40, "example.org/app").still_is(here)


def test_paths_from_the_top_and_below_the_folder() -> None:
    top, svc = RepositoryIdentity("a", "b"), RepositoryIdentity("a", "b", "svc/api")
    assert top.to_top("x.py") == "x.py"
    assert top.below("svc/api/x.py") == "svc/api/x.py"
    assert svc.to_top("x.py") == "svc/api/x.py"
    assert svc.below("svc/api/x.py") == "x.py"
    assert svc.below("svc/apix.py") is None
    assert svc.below("x.py") is None
    assert svc.below("svc/api") is None
