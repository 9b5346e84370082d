"""The slash commands about conversations that are shared through a hub."""

from __future__ import annotations

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId
from palimpsest.services.chat.commands import fact_sharing
from palimpsest.services.chat.commands.markdown import plain, table
from palimpsest.services.chat.commands.scope import Reply, Scope
from palimpsest.services.sharing import publication
from palimpsest.wording import counted


async def share(scope: Scope, argument: str) -> Reply:
    what, _, choice = argument.partition(" ")
    if what == fact_sharing.WHAT:
        return await fact_sharing.share(scope, choice.strip())
    if argument not in ("", "yes"):
        raise InvalidRequest(f"{argument!r} is not understood. Type /share, then /share yes.")
    sharing, conversation_id = scope.session.folder.sharing.require(), scope.conversation_id
    team = await publication.team(sharing, scope.session.settings.hub.team)
    plan = await publication.plan(sharing, conversation_id, team.id)
    readers = ", ".join(plain(each.name) for each in plan.readers)
    if argument != "yes":
        lines = [f"{readers} of the team {plain(team.name)} will read {counted(plan.n_messages, 'message')}."]
        if plan.cleaned:
            listed = ", ".join(str(each) for each in plan.cleaned[:20])
            lines.append(
                f"A copy is shared, because something is taken out of {counted(len(plan.cleaned), 'message')} "
                f"({listed}): keys of known forms, and the paths of this machine. This conversation stays as it is."
            )
        elif plan.is_copy:
            lines.append("A copy is shared, because this is a fork of a conversation that is not shared.")
        if not scope.session.settings.hub.share_tool_results:
            lines.append("The results of tools are not shared.")
        lines.append("Type `/share yes` to share it.")
        return Reply("\n\n".join(lines))
    shared_id = await publication.share(sharing, conversation_id, team.id)
    if shared_id == conversation_id:
        return Reply(f"This conversation is shared with {readers}.")
    return Reply(f"A copy of the conversation is shared with {readers}. The chat continues in it.", shared_id)


async def unshare(scope: Scope, argument: str) -> Reply:
    what, _, choice = argument.partition(" ")
    if what == fact_sharing.WHAT:
        return await fact_sharing.unshare(scope, choice.strip())
    if argument:
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
            (each.id[:8], plain(each.title) or "untitled", plain(names.get(each.owner, "")), f"{each.n_messages}")
            for each in offered
        ]
        listed = table(("Id", "Title", "Shared by", "Messages"), rows)
        return Reply(f"{listed}\n\nType `/shared ID` to open one.")
    found = [each for each in offered if each.id.startswith(argument)]
    if len(found) != 1:
        what = "No conversation has an id that begins so" if not found else "Several ids begin so"
        raise InvalidRequest(f"{what}: {argument!r}. Type /shared for the list.")
    opened = await publication.open_shared(sharing, team.id, ConversationId(found[0].id))
    return Reply(f"The chat continues in {plain(found[0].title) or 'the conversation'}.", opened)
