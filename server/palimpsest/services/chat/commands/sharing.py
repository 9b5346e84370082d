"""The slash commands about conversations that are shared through a hub."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from palimpsest.domain.errors import HubFailed, HubIsAway, InvalidRequest, PalimpsestError
from palimpsest.domain.messages import ConversationId, MessageId
from palimpsest.services.chat.commands import fact_sharing
from palimpsest.services.chat.commands.markdown import code, plain, table
from palimpsest.services.chat.commands.scope import Reply, Scope
from palimpsest.services.sharing import publication
from palimpsest.services.sharing.dry_run import dry_run
from palimpsest.services.sharing.purges import n_refused
from palimpsest.services.sharing.readers import readers_of
from palimpsest.storage.sharing import shared as shared_conversations
from palimpsest.wording import counted

_MOST_NAMED: Final = 20


async def share(scope: Scope, argument: str) -> Reply:
    what, _, choice = argument.partition(" ")
    if what == fact_sharing.WHAT:
        return await fact_sharing.share(scope, choice.strip())
    if argument not in ("", "yes"):
        raise InvalidRequest(f"{argument!r} is not understood. Type /share, then /share yes.")
    sharing, conversation_id = scope.session.folder.sharing.require(), scope.conversation_id
    if argument != "yes" and await _is_shared(scope):
        return Reply(await _reading(scope))
    team = await publication.team(sharing, scope.session.settings.hub.team)
    tried = await dry_run(sharing, conversation_id, team.id)
    plan = tried.plan
    readers = fact_sharing.named_readers(plan, await sharing.me())
    if argument != "yes":
        lines = [f"{readers} of the team {plain(team.name)} will read {counted(plan.n_messages, 'message')}."]
        if plan.cleaned:
            kinds = [f"- {plain(kind)}: {_in_messages(ids)}" for kind, ids in tried.removals.items()]
            lines.append("A copy is shared, and this conversation stays as it is, because this is taken out before:")
            lines.append("\n".join(kinds))
        elif plan.copy_reason is not None:
            lines.append(f"A copy is shared, and this conversation stays as it is, because {plan.copy_reason}.")
        if not scope.session.settings.hub.share_tool_results:
            lines.append("The results of tools are not shared.")
        elif tried.files:
            named = ", ".join(code(each) for each in tried.files[:_MOST_NAMED])
            more = f" and {len(tried.files) - _MOST_NAMED} more" if len(tried.files) > _MOST_NAMED else ""
            lines.append(f"Results of tools may hold text of {named}{more}.")
        lines.append("Type `/share yes` to share it.")
        return Reply("\n\n".join(lines))
    shared_id = await publication.share(sharing, conversation_id, team.id)
    if shared_id == conversation_id:
        return Reply(f"This conversation is shared with the team {plain(team.name)}: {readers}.")
    return Reply(
        f"A copy of the conversation is shared with the team {plain(team.name)}: {readers}. The chat continues in it.",
        shared_id,
    )


async def _is_shared(scope: Scope) -> bool:
    mark = (await scope.session.conversations.read(scope.conversation_id, None, 1)).record.shared
    return mark is not None and not mark.is_detached


async def _reading(scope: Scope) -> str:
    """Who reads the conversation, and how far each store has come."""
    found = await readers_of(scope.session.folder.sharing.require(), scope.conversation_id)
    members = [(plain(each.name) + (" (you)" if each.id == found.me else ""), each.role) for each in found.members]
    stores = []
    for each in found.stores:
        behind = found.head_seq - each.applied_seq
        has = "has everything" if behind <= 0 else f"lacks the newest {counted(behind, 'entry')}"
        stores.append((plain(each.member) + (", this folder" if each.is_this else ""), has))
    listed = f"{table(('Who reads it', 'Role'), members)}\n\n{table(('Where it is', 'State'), stores)}"
    return f"This conversation is shared.\n\n{listed}"


async def purge_elsewhere(scope: Scope, wanted: tuple[MessageId, MessageId] | None) -> str:
    """Where else a purge would delete, and where not, in sentences; empty for what is not shared."""
    sharing = scope.session.folder.sharing.current
    if sharing is None:
        return ""
    if not await _is_shared(scope):
        copies = await sharing.store.read(shared_conversations.shared_copies, scope.conversation_id)
        named = " and ".join(f"“{plain(title) or 'untitled'}”" for title in copies)
        return f"A copy is shared and stays as it is: {named}. Purge the same there, too." if copies else ""
    said = "The conversation is shared: the hub and the stores of all who have it delete the same."
    try:
        found = await scope.session.purging.scope_of(scope.conversation_id, wanted)
        n = await n_refused(sharing, found.stretches)
    except (HubIsAway, HubFailed):
        return f"{said} The hub does not answer: as long as it is away, only what is all your own can be purged."
    if not n:
        return said
    return (
        f"{said} It will refuse that: others wrote {counted(n, 'message')} of these, and only their author, the owner "
        "of the conversation or an admin of the team may purge them. Name a range of your own."
    )


async def purged_elsewhere(scope: Scope) -> str:
    """How far a purge has come in the other stores, as a sentence; empty for a conversation that is not shared."""
    sharing = scope.session.folder.sharing.current
    if sharing is None or not await _is_shared(scope):
        return ""
    try:
        found = await readers_of(sharing, scope.conversation_id)
    except PalimpsestError:
        return "The hub does not answer: it and the other stores do the same when it is back."
    others = [each for each in found.stores if not each.is_this]
    done = sum(each.applied_seq >= found.head_seq for each in others)
    if done == len(others):
        return "The hub and all other stores have done the same." if others else "The hub has done the same."
    return (
        f"The hub has done the same; of {counted(len(others), 'other store')}, {done} {'has' if done == 1 else 'have'} "
        "so far. `/share` shows how far each is."
    )


def _in_messages(ids: Sequence[int]) -> str:
    more = len(ids) - _MOST_NAMED
    listed = ", ".join(str(each) for each in ids[:_MOST_NAMED])
    return f"{'message' if len(ids) == 1 else 'messages'} {listed}{f' and {more} more' if more > 0 else ''}"


async def unshare(scope: Scope, argument: str) -> Reply:
    what, _, choice = argument.partition(" ")
    if what == fact_sharing.WHAT:
        return await fact_sharing.unshare(scope, choice.strip())
    if argument not in ("", "yes"):
        raise InvalidRequest(f"{argument!r} is not understood. Type /unshare, or /unshare facts.")
    await publication.unshare(scope.session.folder.sharing.require(), scope.conversation_id)
    return Reply("The hub does not have this conversation any more. Others keep what they have taken in.")


async def shared(scope: Scope, argument: str) -> Reply:
    sharing = scope.session.folder.sharing.require()
    team = await publication.team(sharing, scope.session.settings.hub.team)
    offered = await publication.offered(sharing, team.id)
    if not argument:
        if not offered:
            return Reply(f"The team {plain(team.name)} shares no conversation yet.")
        names = {each.id: each.name for each in await publication.readers(sharing, team.id)}
        rows = [
            (
                *(f"{number}", each.id[:8], plain(each.title) or "untitled", plain(names.get(each.owner, ""))),
                f"{each.n_messages}",
            )
            for number, each in enumerate(offered, 1)
        ]
        listed = table(("N", "Id", "Title", "Shared by", "Messages"), rows)
        return Reply(f"{listed}\n\nType `/shared N`, or `/shared ID`, to open one.")
    if argument.isdecimal() and 0 < int(argument) <= len(offered):
        found = [offered[int(argument) - 1]]
    else:
        found = [each for each in offered if each.id.startswith(argument)]
    if len(found) != 1:
        what = "No conversation has that number, or an id that begins so" if not found else "Several ids begin so"
        raise InvalidRequest(f"{what}: {argument!r}. Type /shared for the list.")
    opened = await publication.open_shared(sharing, team.id, ConversationId(found[0].id))
    title, n_messages = plain(found[0].title) or "untitled", counted(found[0].n_messages, "message")
    return Reply(
        f"The chat continues in “{title}” ({n_messages}), which is shared with the team {plain(team.name)}.", opened
    )
