"""`credentials/set`, `credentials/check`, `credentials/list`."""

from __future__ import annotations

from palimpsest.domain.errors import PalimpsestError
from palimpsest.domain.models.providers import origin_of
from palimpsest.domain.settings.settings import Settings
from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.models.keys import KeySource, find_entry
from palimpsest.wire.areas import credentials as wire


async def set_credentials(ls: PalimpsestServer, params: wire.SetCredentialsParams) -> wire.SetCredentialsResult:
    folders = await ls.folders()
    entry = find_entry(folders.model_services.entries(await _settings(ls)), params.provider)
    origin = None if params.address is None else origin_of(params.address)
    report = await folders.keys.set(entry, params.key, stores=bool(params.store), origin=origin)
    await folders.hear_again()
    return wire.SetCredentialsResult(_source(report.source), report.sentence)


async def check(ls: PalimpsestServer, params: wire.CheckCredentialsParams) -> wire.CheckCredentialsResult:
    settings = (await ls.session(None)).settings
    answer = await (await ls.folders()).model_services.try_service(
        settings, params.provider, params.key, params.address
    )
    return wire.CheckCredentialsResult(wire.KeyVerdict(answer.verdict.value), answer.sentence, [*answer.models])


async def list_services(ls: PalimpsestServer, params: wire.ListCredentialsParams) -> wire.ListCredentialsResult:
    folders = await ls.folders()
    await folders.look_for_keys()
    found = folders.model_services.states((await ls.session(None)).settings)
    return wire.ListCredentialsResult(
        [
            wire.ServiceInfo(
                each.entry.name,
                each.entry.title,
                takes_key=each.entry.takes_key,
                needs_key=each.entry.needs_key,
                address=each.address,
                is_usual_address=each.is_usual_address,
                is_ready=each.is_ready,
                source=_source(folders.keys.source(each.entry)),
            )
            for each in found
        ]
    )


async def _settings(ls: PalimpsestServer) -> Settings:
    """The settings of the first folder; the built-in ones while none is open: an editor sends keys when it starts."""
    try:
        return (await ls.session(None)).settings
    except PalimpsestError:
        return Settings()


def _source(source: KeySource | None) -> wire.KeySource | None:
    return None if source is None else wire.KeySource(source.value)
