"""The slash command about servers of the Model Context Protocol, and the prompts that they offer."""

from __future__ import annotations

from palimpsest.domain.errors import InvalidRequest
from palimpsest.services.chat.commands.markdown import plain, table
from palimpsest.services.chat.commands.scope import Reply, Scope
from palimpsest.services.chat.commands.worded import prompts_listed
from palimpsest.services.mcp.server import ServerState, ServerStatus
from palimpsest.wording import counted

_NONE = (
    "No MCP server is configured. Name one in your `config.toml`, as `[mcp.NAME]` with a `command` or a `url`; "
    "docs/mcp.md says how."
)
_USAGE = "Type `/mcp`, `/mcp approve NAME CODE`, `/mcp refuse NAME CODE` or `/mcp restart NAME`."


async def mcp(scope: Scope, argument: str) -> Reply:
    servers = scope.session.folder.mcp
    match argument.split():
        case []:
            await servers.refresh()
            return Reply(_listed(servers.statuses(), servers.problems, scope))
        case ["approve" | "refuse" as how, name, shown]:
            config = servers.status(name).config
            fingerprint = config.fingerprint if shown == _code(config.fingerprint) else shown
            status = await servers.answer(name, fingerprint, is_approved=how == "approve")
            return Reply(f"The server {plain(name)} is {status.state.value}. {plain(status.sentence)}".rstrip())
        case ["restart", name]:
            return Reply(f"The server {plain(name)} is {(await servers.restart(name)).state.value}.")
    raise InvalidRequest(f"{argument[:60]!r} is not understood. {_USAGE}")


def _code(fingerprint: str) -> str:
    return fingerprint[:6]


def _listed(found: list[ServerStatus], problems: tuple[str, ...], scope: Scope) -> str:
    parts = [f"- {plain(each)}" for each in problems]
    if not found:
        return "\n".join([_NONE, *parts])
    rows = [
        (
            each.config.name,
            each.state.value,
            each.config.origin.value,
            _offers(each),
            each.sentence,
        )
        for each in found
    ]
    parts.insert(0, table(("Server", "State", "From", "Offers", ""), rows) + "\n")
    for each in found:
        parts += [f"- {plain(each.config.name)}: {plain(problem)}" for problem in each.offer.problems]
        if each.state is ServerState.UNAPPROVED:
            name, shown = each.config.name, _code(each.config.fingerprint)
            parts.append(f"\n{plain(each.config.origin.value)} would start the server {plain(name)}:\n")
            parts += [f"    {line}" for line in each.config.shown.splitlines()]
            parts.append(
                f"\nTo allow exactly this: `/mcp approve {name} {shown}`. To refuse it: `/mcp refuse {name} {shown}`."
            )
    if prompts := prompts_listed(scope.session.folder):
        parts.append(f"\n{prompts}")
    return "\n".join(parts)


def _offers(status: ServerStatus) -> str:
    offer = status.offer
    counts = ((offer.tools, "tool"), (offer.resources, "resource"), (offer.prompts, "prompt"))
    return ", ".join(counted(len(listed), noun) for listed, noun in counts if listed)
