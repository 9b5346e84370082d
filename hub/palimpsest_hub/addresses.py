"""Where a hub is, and that the way to it is safe.

An address is what libpq takes: `postgresql://login@host/database`, or `host=... dbname=...`. Any way that may leave
this machine is taken with a verified certificate only. libpq also fills what an address leaves out from its environment
(`PGHOSTADDR`, `PGSSLMODE`) and from service files, so everything that decides where a connection goes and how it is
protected is written out here.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from palimpsest_hub.errors import HubRefused

CONNECT_TIMEOUT_S: Final = 5
_KEEPALIVE: Final = {"keepalives_idle": "15", "keepalives_interval": "5", "keepalives_count": "3"}
_SERVICE: Final = ("service", "servicefile")
_BUNDLES: Final = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")


def connection_options(address: str, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The parameters of a connection, with a verified certificate wherever a host may be another machine.

    Raises HubRefused `address` for what is no address or names no host, and `tls` for a weaker protection.
    """
    try:
        given = {name: str(value) for name, value in conninfo_to_dict(address).items() if value is not None}
    except psycopg.ProgrammingError:
        raise HubRefused("address", "The hub's address is not one that PostgreSQL understands.") from None
    if any(given.get(name) for name in _SERVICE) or environment.get("PGSERVICE"):
        raise HubRefused(
            "address", "The hub's address cannot come from a service file. Write the host into the address."
        )
    hosts, addresses = given.get("host", ""), given.get("hostaddr", "") or environment.get("PGHOSTADDR", "")
    if not hosts and not addresses:
        raise HubRefused("address", "The hub's address names no host and no folder of a socket.")
    options = {"connect_timeout": str(CONNECT_TIMEOUT_S), "application_name": "palimpsest", **_KEEPALIVE, **given}
    if addresses:
        options["hostaddr"] = addresses
    if all(map(_is_here, [*_listed(hosts), *_listed(addresses)])):
        return options
    if (given.get("sslmode") or environment.get("PGSSLMODE") or "verify-full") != "verify-full":
        raise HubRefused("tls", "A hub on another machine is reached with sslmode=verify-full only.")
    # Kerberos would encrypt without looking at the certificate.
    protected = {"sslmode": "verify-full", "gssencmode": "disable"}
    if not given.get("sslrootcert") and not environment.get("PGSSLROOTCERT"):
        protected["sslrootcert"] = _system_certificates()
    return options | protected


def _listed(hosts: str) -> list[str]:
    return hosts.split(",") if hosts else []


def _is_here(host: str) -> bool:
    """Whether a host is this machine. An empty element of a list means a name that libpq fills in."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.startswith(("/", "@")) or host == "localhost"


def _system_certificates() -> str:
    """The file of the certificates that this system trusts. libpq's own word for them, `system`, needs libpq 16 and an
    OpenSSL that was built for this system."""
    for place in (os.environ.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile, *_BUNDLES):
        if place and Path(place).is_file():
            return place
    return "system"
