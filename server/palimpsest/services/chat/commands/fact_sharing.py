"""`/share facts` and `/unshare facts`: the facts of a folder, shared with those who work on the same repository."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.sharing.facts import FACTS_ARE_OFF
from palimpsest.services.chat.commands.markdown import plain, table
from palimpsest.services.chat.commands.scope import Reply, Scope
from palimpsest.services.sharing import publication
from palimpsest.wording import counted

if TYPE_CHECKING:  # the hub's package is an extra
    from palimpsest.services.sharing.repository_facts import FactsPlan

WHAT: Final = "facts"
"""The first word of the argument."""
_REASONS: Final[Mapping[str, str]] = {
    "pinned": "pinned, which stays with you",
    "place": "about places that cannot be told to others, or that hold a key or a path of this machine",
    "text": "of which nothing is left without keys and paths of this machine",
    "colleague": "noted by colleagues, who share them themselves",
}


def named_readers(plan: publication.Plan | FactsPlan, me: str) -> str:
    return ", ".join(plain(each.name) + (" (you)" if each.id == me else "") for each in plan.readers)


async def share(scope: Scope, choice: str) -> Reply:
    """`choice`: empty for the plan, `yes`, `new`, or the beginning of a repository's id."""
    shared = scope.session.folder.sharing.require_facts()
    plan = await shared.plan(await publication.team(shared.sharing, scope.session.settings.hub.team))
    readers = named_readers(plan, await shared.sharing.me())
    if not choice and await shared.share_now() is not None:
        said = f"The facts of this folder are shared: {readers} of the team {plain(plan.team.name)} can read them."
        return Reply("\n\n".join([said, *_left_out(plan), "Type `/unshare facts` to end it."]))
    if not choice:
        lines = _told(plan, readers)
        if not shared.is_on:
            lines[-1] = FACTS_ARE_OFF
        return Reply("\n\n".join(lines))
    await shared.share(plan, None if choice == "yes" else choice)
    lines = [f"{readers} can read {counted(plan.n_facts, 'fact')} of this folder, and the ones that follow."]
    return Reply("\n\n".join([*lines, *_left_out(plan)]))


async def unshare(scope: Scope, choice: str) -> Reply:
    """`choice`: empty for what would happen, or `yes`."""
    shared = scope.session.folder.sharing.require_facts()
    if await shared.share_now() is None:
        raise InvalidRequest("The facts of this folder are not shared.")
    if choice != "yes":
        return Reply(
            "No fact of this folder goes to the team any more, and none of the team comes here. What the team has it "
            "keeps, and what came from it stays here, with its author. To take a statement from everybody, `/forget` "
            "it first.\n\nType `/unshare facts yes` to end it."
        )
    await shared.unshare()
    return Reply("The facts of this folder are not shared any more.")


def _left_out(plan: FactsPlan) -> list[str]:
    if not plan.left_out:
        return []
    listed = "".join(f"\n- {n} {_REASONS[why]}" for why, n in plan.left_out.items())
    return [f"Not shared:\n{listed}"]


def _told(plan: FactsPlan, readers: str) -> list[str]:
    where = plan.identity.remote or f"the first commit {plan.identity.root_commit[:12]}"
    lines = [
        f"{readers} of the team {plain(plan.team.name)} will read {counted(plan.n_facts, 'fact')} of {plain(where)}."
    ]
    if plan.n_cleaned:
        lines.append(f"Keys of known forms and the paths of this machine are taken out of {plan.n_cleaned} of them.")
    lines += _left_out(plan)
    lines.append(
        "Shared are statements, names, and places in files; no message, no quote and no pin. Facts of the team come "
        "here with the names of their authors, and are no rules."
    )
    if plan.is_certain:
        return [*lines, "Type `/share facts yes` to share them."]
    offered = [each for each in (plan.repository, *plan.alike) if each is not None]
    if offered:
        rows = [(each.id[:8], each.remote or "no remote", each.root_commit[:12] or "unknown") for each in offered]
        listed = table(("Id", "Remote", "First commit"), rows)
        lines.append(f"It is not certain that this is one of these repositories of the team:\n\n{listed}")
        lines.append("Type `/share facts ID` if it is, or `/share facts new` if it is another one.")
    else:
        lines.append(
            "This clone does not know its first commit, or has no remote, so it is recognized by one of them alone. "
            "Type `/share facts new` to share them all the same."
        )
    return lines
