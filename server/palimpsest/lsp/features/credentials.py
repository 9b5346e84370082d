"""`credentials/set`, `credentials/check`, `credentials/list`."""

from __future__ import annotations

from palimpsest.lsp.server import PalimpsestServer
from palimpsest.services.models.keys import KeySource
from palimpsest.wire.areas import credentials as wire


async def set_credentials(ls: PalimpsestServer, params: wire.SetCredentialsParams) -> wire.SetCredentialsResult:
    folders = await ls.folders()
    report = await folders.keys.set(params.provider, params.key, stores=bool(params.store))
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
                takes_key=bool(each.entry.key_variables),
                address=each.address,
                is_usual_address=each.is_usual_address,
                is_ready=each.is_ready,
                source=_source(folders.keys.source(each.entry.name)),
            )
            for each in found
        ]
    )


def _source(source: KeySource | None) -> wire.KeySource | None:
    return None if source is None else wire.KeySource(source.value)
