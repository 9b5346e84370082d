"""`credentials/set`."""

from __future__ import annotations

from palimpsest.lsp.server import PalimpsestServer
from palimpsest.wire.areas.credentials import KeySource, SetCredentialsParams, SetCredentialsResult


async def set_credentials(ls: PalimpsestServer, params: SetCredentialsParams) -> SetCredentialsResult:
    folders = await ls.folders()
    report = await folders.keys.set(params.provider, params.key, stores=bool(params.store))
    await folders.hear_again()
    return SetCredentialsResult(None if report.source is None else KeySource(report.source.value), report.sentence)
