"""The ways to hubs of a server process, one for each address."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from palimpsest.app.places import Places
from palimpsest.app.settings_files import TOKEN_VARIABLE
from palimpsest.domain.settings.settings import HubSettings

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest_hub.client import Hub

LOCAL: Final = "local"
"""The setting `hub.url` for the hub of `palimpsest hub local`."""


@dataclass(slots=True)
class HubPool:
    """Each hub is connected to at its first use."""

    environ: Mapping[str, str]
    places: Places
    _hubs: dict[tuple[str, str | None], Hub] = field(default_factory=dict)

    @staticmethod
    def is_installed() -> bool:
        """Whether the extra `hub` is."""
        return importlib.util.find_spec("psycopg") is not None

    def get(self, settings: HubSettings) -> Hub | None:
        """None when no hub is set up, or what speaks to it is not installed."""
        if settings.url is None or not self.is_installed():
            return None
        key = settings.url, settings.listen_url
        if key not in self._hubs:
            self._hubs[key] = self._make(settings.url, settings.listen_url)
        return self._hubs[key]

    def _make(self, url: str, listen_url: str | None) -> Hub:
        from palimpsest_hub.client import Hub

        token = self.environ.get(TOKEN_VARIABLE) or None
        if url == LOCAL:
            from palimpsest_hub.local import LocalHub

            local = LocalHub(local_folder(self.places))
            return Hub(local.member_address)
        return Hub(url, token=token, listen_address=listen_url)

    async def aclose(self) -> None:
        for hub in self._hubs.values():
            await hub.aclose()


def local_folder(places: Places) -> Path:
    """The folder of the hub of `palimpsest hub local`."""
    return places.stores.parent / "hub"
