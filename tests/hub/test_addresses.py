"""A hub on another machine is reached with a verified certificate, however its address is written."""

from __future__ import annotations

import pytest

from palimpsest_hub.addresses import connection_options
from palimpsest_hub.errors import HubRefused


@pytest.mark.parametrize(
    "address",
    [
        "host=hub.example.org dbname=hub",
        "postgresql://ann@hub.example.org/hub",
        "postgresql://ann@hub.example.org/hub?sslmode=verify-full",
        "host=127.0.0.1,hub.example.org dbname=hub",
        "host=hub.example.org hostaddr=127.0.0.1",
        "host=localhost hostaddr=10.0.0.1",
        "hostaddr=10.0.0.1",
        "host=,127.0.0.1",
        "host=127.0.0.1.example.org",
        "host=localhost.example.org",
    ],
)
def test_another_machine_needs_a_verified_certificate(address: str) -> None:
    options = connection_options(address, {})
    assert (options["sslmode"], options["gssencmode"]) == ("verify-full", "disable")
    assert options["sslrootcert"]


@pytest.mark.parametrize("mode", ["disable", "allow", "prefer", "require", "verify-ca"])
@pytest.mark.parametrize(
    "address",
    [
        "host=hub.example.org sslmode={}",
        "postgresql://ann@hub.example.org/hub?sslmode={}",
        "host=127.0.0.1,hub.example.org sslmode={}",
        "host=localhost hostaddr=10.0.0.1 sslmode={}",
        "host=/run/postgresql hostaddr=127.0.0.1,10.0.0.1 sslmode={}",
    ],
)
def test_less_is_refused(address: str, mode: str) -> None:
    with pytest.raises(HubRefused, match="verify-full") as refused:
        connection_options(address.format(mode), {})
    assert refused.value.kind == "tls"


def test_the_environment_cannot_lead_elsewhere() -> None:
    elsewhere = connection_options("host=localhost", {"PGHOSTADDR": "10.0.0.1"})
    assert (elsewhere["hostaddr"], elsewhere["sslmode"]) == ("10.0.0.1", "verify-full")
    with pytest.raises(HubRefused, match="verify-full"):
        connection_options("host=hub.example.org", {"PGSSLMODE": "require"})
    for address, environment in (("host=localhost", {"PGSERVICE": "far"}), ("service=far host=localhost", {})):
        with pytest.raises(HubRefused, match="service file"):
            connection_options(address, environment)
    for address in ("dbname=hub", "", "postgresql:///hub"):
        with pytest.raises(HubRefused, match="names no host"):
            connection_options(address, {"PGHOST": "hub.example.org"})


@pytest.mark.parametrize(
    "address", ["host=localhost", "host=127.0.0.1", "host=::1", "host=/run/hub", "host=@hub", "hostaddr=127.0.0.1"]
)
def test_this_machine_needs_none(address: str) -> None:
    assert "sslmode" not in connection_options(address, {})


def test_what_is_no_address_is_refused_without_being_quoted() -> None:
    for address in ("postgresql://[host:secret", "hots=secret", "host=a sslmode"):
        with pytest.raises(HubRefused) as refused:
            connection_options(address, {})
        assert "secret" not in str(refused.value)


def test_certificates_that_the_user_names_are_used() -> None:
    assert connection_options("host=a.example.org sslrootcert=/my/ca.pem", {})["sslrootcert"] == "/my/ca.pem"
    assert "sslrootcert" not in connection_options("host=a.example.org", {"PGSSLROOTCERT": "/my/ca.pem"})
