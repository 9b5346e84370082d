"""Facts of a repository between checkouts through a real hub: what they say travels, and each checkout finds out
whether they hold."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo
from tests.git import git, needs_git
from tests.hub.checkouts import CODE, FLY, WADE, Checkout, Open, kept_bodies
from tests.hub.lab import Lab, TestTeam
from tests.lsp.in_process import connected_here
from tests.lsp.real_server import home

from palimpsest.domain.errors import HubIsAway, InvalidRequest, PalimpsestError
from palimpsest.domain.facts.fact import Fact, FactState, FactType, Place, Span
from palimpsest.machine import utc_now
from palimpsest.services.conversation.pending_work import do_pending_work
from palimpsest.storage.context import rules as commanded_rules
from palimpsest.storage.facts import facts
from palimpsest.storage.sharing import shared_facts
from palimpsest.storage.sharing.outgoing_facts import LeftOutBecause
from palimpsest.storage.sql import execute
from palimpsest_hub.errors import HubUnreachable
from palimpsest_hub.records import NewFact

pytestmark = needs_git


async def test_each_checkout_finds_out_what_holds_there(checkout: Open) -> None:
    ann = await checkout("ann")
    await ann.note(WADE, Place("svc/bird.py", symbol="wade"))
    await ann.note(FLY, Place("svc/bird.py", symbol="fly"))
    await ann.note("The nest is on the roof.", type=FactType.DECISION)
    bob, rita = await checkout("bob"), await checkout("rita")
    git(bob.top, "switch", "-qc", "other")
    (bob.top / "svc" / "bird.py").write_text("# New head.\n\n" + CODE.replace("'sky'", "'roof'"), encoding="utf-8")
    git(bob.top, "commit", "-qam", "fly elsewhere")
    await ann.share()
    await bob.share()
    await rita.share()
    fresh, changed = FactState.FRESH, FactState.CHANGED
    assert await ann.states() == {WADE: [fresh], FLY: [fresh], "The nest is on the roof.": []}
    assert await bob.states() == {WADE: [fresh], FLY: [changed], "The nest is on the roof.": []}
    assert await rita.states() == await ann.states()
    assert {each.author for each in await bob.facts()} == {ann.team.full_name("ann")}
    assert {each.author for each in await ann.facts()} == {None}
    assert all(each.is_shared for each in [*await ann.facts(), *await bob.facts()])
    # An edit that is not committed counts, and so does undoing it. No state leaves the checkout.
    path = rita.top / "svc" / "bird.py"
    path.write_text(CODE.replace("'reeds'", "'mud'"), encoding="utf-8")
    await rita.check()
    assert (await rita.states())[WADE] == [changed]
    for each in (rita, bob, ann):
        await each.look()
    assert (await ann.states())[WADE] == (await bob.states())[WADE] == [fresh]
    path.unlink()
    await rita.check()
    assert (await rita.states())[WADE] == [FactState.MISSING]
    git(rita.top, "checkout", "-q", ".")
    await rita.check()
    assert (await rita.states())[WADE] == [fresh]
    git(bob.top, "switch", "-q", "main")
    await bob.check()
    assert await bob.states() == await ann.states()


async def test_a_subfolder_has_the_facts_of_its_files(checkout: Open) -> None:
    ann, bob = await checkout("ann"), await checkout("bob", "svc")
    await ann.note(WADE, Place("svc/bird.py", symbol="wade"))
    await ann.note("top is 1.", Place("top.py"))
    await ann.note("Both are small.", Place("svc/bird.py"), Place("top.py"))
    await bob.note(FLY, Place("bird.py", symbol="fly"))
    await ann.share()
    await bob.share()
    await ann.look()
    fresh = FactState.FRESH
    assert await bob.states() == {FLY: [fresh], WADE: [fresh], "Both are small.": [fresh]}
    assert [source.place.path for source in (await bob.fact(WADE)).sources] == ["bird.py"]
    assert (await ann.states())[FLY] == [fresh]
    assert [source.place.path for source in (await ann.fact(FLY)).sources] == ["svc/bird.py"]
    # What is about files above the folder is kept, and forgotten with all others.
    assert [json.loads(body)["content"] for body in await bob.run(kept_bodies)] == ["top is 1."]
    await ann.run(facts.forget, [(await ann.fact("top is 1.")).id])
    await ann.look()
    await bob.look()
    assert await bob.run(kept_bodies) == []
    assert (await bob.fact(WADE)).sources[0].place.span == Span(1, 2)


async def test_the_last_word_counts_and_what_is_forgotten_stays_so(both: Sequence[Checkout]) -> None:
    ann, bob = both
    await ann.note(WADE, Place("svc/bird.py", symbol="wade"))
    await ann.note(FLY, Place("svc/bird.py", symbol="fly"))
    await ann.look()
    await bob.look()
    # Bob closes; Ann confirms that it holds; Bob hears of it.
    await bob.run(facts.close, (await bob.fact(WADE)).id, utc_now())
    await bob.look()
    await ann.look()
    assert await ann.said() == [FLY]
    keeper = (await ann.folders.get(ann.root)).folder.facts.keeper
    await keeper.verify((await ann.fact(WADE)).id)
    await ann.look()
    await bob.look()
    assert await bob.said() == [WADE, FLY]
    assert (await bob.fact(WADE)).author == ann.team.full_name("ann")
    # Forgotten by one, it is gone with its words on every checkout, whatever the others do meanwhile.
    await (await bob.folders.get(bob.root)).folder.facts.keeper.forget((await bob.fact(FLY)).id)
    await ann.run(facts.close, (await ann.fact(FLY)).id, utc_now())
    await bob.look()
    for each in (ann, bob, ann):
        await each.look()
    assert await ann.said() == await bob.said() == [WADE]
    for each in both:
        held = await each.run(lambda: [text for (text,) in execute("SELECT content FROM fact")])
        assert FLY not in held
        assert not any(FLY in body for body in await each.run(kept_bodies))
    hub = (await ann.shared()).sharing.hub
    share = await ann.run(shared_facts.share)
    assert share is not None
    assert [each.body for each in await hub.facts(share.team, share.repository, 0) if each.standing == "forgotten"] == [
        None
    ]
    # The same words are not learned again, and not shared again.
    await ann.note(FLY)
    await ann.look()
    await bob.look()
    assert await bob.said() == [WADE]


async def test_an_update_is_a_new_fact_and_a_closed_one(both: Sequence[Checkout]) -> None:
    ann, bob = both
    await ann.note(WADE)
    await ann.look()
    await bob.look()
    theirs = await bob.fact(WADE)
    new = await bob.note("wade answers with the mud.")
    await bob.run(facts.close, theirs.id, utc_now(), new)
    await bob.look()
    await ann.look()
    assert await ann.said() == ["wade answers with the mud."]
    assert (await ann.facts())[0].author == bob.team.full_name("bob")
    assert (await bob.facts())[0].author is None


async def test_what_happens_while_the_hub_is_away_is_pushed_when_it_is_back(
    both: Sequence[Checkout], monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = both
    await ann.note(WADE)
    await ann.note(FLY)
    await ann.look()
    shared = await ann.shared()

    async def away(*_: object) -> None:
        raise HubUnreachable("away")

    with monkeypatch.context() as cut:
        cut.setattr(type(shared.sharing.hub), "repositories", away)
        await ann.run(facts.forget, [(await ann.fact(WADE)).id])
        await ann.note("The stork is on the roof.")
        with pytest.raises(HubIsAway):
            await ann.look()
    with monkeypatch.context() as cut:  # the answer to a push is lost
        push = type(shared.sharing.hub).push_facts

        async def lost(*arguments: object) -> None:
            await push(*arguments)  # type: ignore[arg-type]
            raise HubUnreachable("away")

        cut.setattr(type(shared.sharing.hub), "push_facts", lost)
        with pytest.raises(HubIsAway):
            await ann.look()
    await ann.look()
    await bob.look()
    assert await bob.said() == await ann.said() == [FLY, "The stork is on the roof."]


async def test_the_same_statement_of_two_is_one_and_each_has_it_as_his_own(both: Sequence[Checkout]) -> None:
    ann, bob = both
    await ann.note(WADE)
    await bob.note("Wade  answers with the REEDS.")
    await ann.look()
    await bob.look()
    await ann.look()
    assert [each.author for each in [*await ann.facts(), *await bob.facts()]] == [None, None]
    # Learned later by oneself, it is one's own.
    await ann.note(FLY)
    await ann.look()
    await bob.look()
    await bob.note(FLY)
    await bob.look()
    assert [each.author for each in await bob.facts() if each.fact.content == FLY] == [None]
    await bob.run(facts.close, (await bob.fact(FLY)).id, utc_now())
    await bob.look()
    await ann.look()
    assert await ann.said() == [WADE]


async def test_what_may_not_leave_this_machine_stays_here(checkout: Open) -> None:
    ann, bob = await checkout("ann"), await checkout("bob")
    key = "ghp_" + "aB3dE5gH1jK2mN4pQ6rS8tU0vW7xY9zA1bC2"
    (ann.top / "keys.py").write_text(f"KEY = '{key}'\n", encoding="utf-8")
    await ann.note(f"The log is in {ann.root.as_posix()}/log, with {key}.", entities=(key, "log"))
    await ann.note("The key is in keys.py.", Place("keys.py", Span(1, 1)))
    await ann.note("Call me Ann.", type=FactType.PINNED)
    await ann.run(commanded_rules.add_pin, "Never use tabs.", utc_now())
    closed = await ann.note("The nest was in the tree.")
    await ann.run(facts.close, closed, utc_now())
    plan = await ann.plan()
    assert (plan.n_facts, plan.n_cleaned) == (1, 1)
    assert plan.left_out == {LeftOutBecause.PINNED: 1, LeftOutBecause.PLACE: 1}
    assert {each.name for each in plan.readers} == {ann.team.full_name(name) for name in ("ann", "bob", "rita")}
    assert await ann.run(shared_facts.share) is None, "a plan shares nothing"
    await ann.share()
    await bob.share()
    (only,) = await bob.facts()
    assert only.fact == Fact(FactType.ENTITY, "The log is in ./log, with [redacted: GitHub token].", ("log",))
    hub = (await ann.shared()).sharing.hub
    share = await ann.run(shared_facts.share)
    assert share is not None
    (there,) = await hub.facts(share.team, share.repository, 0)
    assert there.body is not None
    assert not any(word in there.body for word in (key, str(ann.top), "quote", "message"))
    assert (await ann.facts())[0].fact.content.endswith(f"{key}.")


async def test_nothing_is_shared_or_taken_in_unless_the_user_wants_it(checkout: Open) -> None:
    ann, bob = await checkout("ann"), await checkout("bob", is_trusted=False)
    await ann.note(WADE)
    await ann.look()
    hub = (await ann.shared()).sharing.hub
    assert await hub.repositories(ann.team.id) == []
    with pytest.raises(InvalidRequest, match="Trust this folder"):
        await bob.plan()
    await ann.share()
    (await ann.shared()).is_on = False
    await ann.note(FLY)
    await ann.look()
    (repository,) = await hub.repositories(ann.team.id)
    assert len(await hub.facts(ann.team.id, repository.id, 0)) == 1
    (await ann.shared()).is_on = True
    assert await (await ann.shared()).unshare()
    assert not await (await ann.shared()).unshare()
    await ann.look()
    assert len(await hub.facts(ann.team.id, repository.id, 0)) == 1
    assert [each.is_shared for each in await ann.facts()] == [False, False]


async def test_sharing_and_its_end_by_slash_commands(checkout: Open) -> None:
    ann, bob = await checkout("ann"), await checkout("bob")
    await ann.note(WADE)
    await ann.note("Call me Ann.", type=FactType.PINNED)
    planned = await ann.type("/share facts")
    assert all(ann.team.full_name(name) in planned for name in ("ann", "bob", "rita"))
    assert "1 fact of example.org/birds/heron" in planned
    assert "1 pinned" in planned
    (await ann.shared()).is_on = False
    assert "set `hub.facts = true`" in await ann.type("/share facts")
    with pytest.raises(InvalidRequest, match=r"config\.toml"):
        await ann.type("/share facts yes")
    (await ann.shared()).is_on = True
    with pytest.raises(InvalidRequest, match="not shared"):
        await ann.type("/unshare facts")
    assert "can read 1 fact of this folder" in await ann.type("/share facts yes")
    assert "The facts of this folder are shared" in await ann.type("/share facts")
    git(bob.top, "remote", "remove", "origin")
    asked = await bob.type("/share facts")
    (repository,) = (await bob.plan()).alike
    assert "`/share facts ID`" in asked
    assert repository.id[:8] in asked
    await bob.type(f"/share facts {repository.id[:8]}")
    assert f"(noted by {ann.team.full_name('ann')})" in await bob.type("/facts")
    number = (await bob.fact(WADE)).id
    assert f"`/forget {number} yes`" in await bob.type(f"/forget {number}")
    assert await bob.said() == [WADE]
    assert "restores it here" in await bob.type(f"/forget {number} yes")
    assert await bob.said() == []
    assert "/unshare facts yes" in await ann.type("/unshare facts")
    await ann.type("/unshare facts yes")
    (await bob.shared()).is_on = False
    with pytest.raises(InvalidRequest, match=r"hub\.facts"):
        await bob.type("/share facts yes")


async def test_sharing_by_the_protocol(lab: Lab, birds: TestTeam, origin: Path, tmp_path: Path) -> None:
    hub = {
        "PALIMPSEST_HUB_URL": make_conninfo(lab.admin, user=lab.gate.name, password=lab.gate.password),
        "PALIMPSEST_HUB_TOKEN": birds.tokens["ann"],
        "PALIMPSEST_HUB_FACTS": "true",
        "PALIMPSEST_HUB_POLL_S": "3600",
    }
    async with connected_here(**home(tmp_path, **hub)) as client:
        folders = [{"uri": origin.as_uri(), "name": "heron"}]
        trusted = {"palimpsest": {"trust": True}}
        await client.initialize({}, workspaceFolders=folders, initializationOptions=trusted)
        planned = await client.result("palimpsest/facts/share", {})
        assert (planned["shared"], planned["certain"], planned["repositories"]) == (False, False, [])
        assert planned["readers"] == sorted(birds.full_name(name) for name in ("ann", "bob", "rita"))
        refused = await client.request("palimpsest/facts/share", {"confirm": True})
        assert refused["error"]["data"]["kind"] == "invalid_request"
        done = await client.result("palimpsest/facts/share", {"confirm": True, "repository": "new"})
        assert (done["shared"], done["nFacts"]) == (True, 0)
        assert await client.result("palimpsest/facts/unshare", {}) == {"wasShared": True}
        assert await client.result("palimpsest/facts/unshare", {}) == {"wasShared": False}


async def test_one_equal_part_asks_which_repository_it_is(checkout: Open) -> None:
    ann, bob = await checkout("ann"), await checkout("bob")
    await ann.note(WADE)
    await ann.share()
    git(bob.top, "remote", "set-url", "origin", "https://example.org/bob/heron")
    plan = await bob.plan()
    assert plan.repository is None
    assert [each.remote for each in plan.alike] == ["example.org/birds/heron"]
    assert not plan.is_certain
    for wrong in (None, "x", ""):
        with pytest.raises(InvalidRequest, match="not certain"):
            await bob.share(wrong)
    await bob.share(plan.alike[0].id[:8])
    assert await bob.said() == [WADE]
    # A shallow clone knows no first commit, so even a new repository is asked for.
    shutil.rmtree(bob.top / ".git")
    git(bob.top, "init", "-q")
    git(bob.top, "remote", "add", "origin", "https://example.org/other")
    plan = await bob.plan()
    assert (plan.alike, plan.is_certain) == ((), False)
    await bob.share("new")
    share = await bob.run(shared_facts.share)
    assert share is not None
    assert share.identity.remote == "example.org/other"
    assert [each.author for each in await bob.facts()] == [ann.team.full_name("ann")]
    hub = (await bob.shared()).sharing.hub
    assert await hub.facts(share.team, share.repository, 0) == [], "what a colleague noted is not passed on"


async def test_a_folder_that_became_another_repository_shares_nothing(checkout: Open) -> None:
    ann = await checkout("ann")
    await ann.share()
    await ann.folders.close()
    git(ann.top, "remote", "set-url", "origin", "https://example.org/private")
    again = await checkout("ann")
    await again.note(WADE)
    await again.look()
    hub = (await again.shared()).sharing.hub
    (repository,) = await hub.repositories(again.team.id)
    assert await hub.facts(again.team.id, repository.id, 0) == []
    git(ann.top, "remote", "set-url", "origin", "https://example.org/birds/heron/")
    await again.look()
    assert len(await hub.facts(again.team.id, repository.id, 0)) == 1


async def test_a_reader_takes_in_and_pushes_nothing(checkout: Open) -> None:
    ann, rita = await checkout("ann"), await checkout("rita")
    with pytest.raises(PalimpsestError, match="may not write"):
        await rita.share()
    await ann.note(WADE)
    await ann.share()
    await rita.share()
    await rita.note(FLY)
    await rita.run(facts.forget, [(await rita.fact(WADE)).id])
    await rita.look()
    await rita.look()
    await ann.look()
    assert await ann.said() == [WADE]
    await ann.note("The stork is on the roof.")
    await ann.look()
    await rita.look()
    assert await rita.said() == [FLY, "The stork is on the roof."]


async def test_another_team_has_facts_of_its_own(checkout: Open, lab: Lab) -> None:
    others = lab.team(ann="admin", eve="admin")
    ann, eve = await checkout("ann"), await checkout("eve", of=others)
    await ann.note(WADE)
    await ann.share()
    share = await ann.run(shared_facts.share)
    assert share is not None
    await eve.share()
    assert await eve.said() == []
    hub = (await eve.shared()).sharing.hub
    assert await hub.facts(share.team, share.repository, 0) == []
    assert await hub.repositories(share.team) == []
    with pytest.raises(Exception, match="may not write"):
        await hub.push_facts(share.team, share.repository, [NewFact("a" * 64, "open", "{}")])
    with pytest.raises(Exception, match="not shared"):
        await hub.push_facts(others.id, share.repository, [NewFact("a" * 64, "open", "{}")])


async def test_a_hub_that_lost_changes_gets_them_again(both: Sequence[Checkout], lab: Lab) -> None:
    ann, bob = both
    await ann.note(WADE)
    await ann.note(FLY)
    await bob.note("The stork is on the roof.")
    for each in (ann, bob, ann):
        await each.look()
    await ann.run(facts.forget, [(await ann.fact(FLY)).id])
    await ann.look()
    await bob.look()
    share = await ann.run(shared_facts.share)
    assert share is not None
    with lab.owner.transaction():  # as it was before anything was shared
        lab.owner.execute("DELETE FROM hub.fact WHERE repository = %s", [share.repository])
        lab.owner.execute("UPDATE hub.repository SET head_seq = 0 WHERE id = %s", [share.repository])
    for each in (ann, bob, ann, bob):
        await each.look()
    assert await ann.said() == [WADE, "The stork is on the roof."]
    assert await bob.said() == ["The stork is on the roof.", WADE]
    found = await (await ann.shared()).sharing.hub.facts(share.team, share.repository, 0)
    assert sorted((each.standing, each.author) for each in found) == sorted(
        [
            ("open", ann.team.ids["ann"]),
            ("open", ann.team.ids["bob"]),
            ("forgotten", next(each.author for each in found if each.standing == "forgotten")),
        ]
    )


async def test_a_forgotten_fact_of_a_colleague_is_restored_as_his(both: Sequence[Checkout]) -> None:
    ann, bob = both
    await ann.note(WADE)
    await ann.look()
    await bob.look()
    keeper = (await bob.folders.get(bob.root)).folder.facts.keeper
    fact_id = (await bob.fact(WADE)).id
    await keeper.forget(fact_id)
    restored = await keeper.restore(fact_id)
    assert restored.author == ann.team.full_name("ann")
    # Clearing a folder makes no team forget.
    await keeper.clear()
    await bob.look()
    await ann.look()
    assert await ann.said() == [WADE]


async def test_forgotten_words_are_in_no_file_of_the_others(both: Sequence[Checkout]) -> None:
    ann, bob = both
    await ann.note("The zanzibarqueue holds herons.", entities=("zanzibarqueue",))
    await ann.look()
    await bob.look()
    assert await bob.said() == ["The zanzibarqueue holds herons."]
    await ann.run(facts.forget, [(await ann.facts())[0].id])
    await ann.look()
    await bob.look()
    folder = (await bob.folders.get(bob.root)).folder
    await do_pending_work(folder.store)
    directory = folder.store.directory
    await bob.folders.close()  # empties the log
    held = [path for path in directory.rglob("*") if path.is_file() and b"zanzibarqueue" in path.read_bytes()]
    assert held == []


async def test_a_purge_of_the_words_behind_a_fact_reaches_the_team(both: Sequence[Checkout]) -> None:
    ann, bob = both
    await ann.note(WADE)
    await ann.look()
    await bob.look()
    await ann.run(facts.remove, [(await ann.fact(WADE)).id])  # as a purge does
    await ann.look()
    await bob.look()
    assert await bob.facts(includes_closed=True) == []


async def test_what_was_pinned_of_a_shared_fact_takes_it_from_nobody(both: Sequence[Checkout]) -> None:
    ann, bob = both
    await ann.note(WADE)
    await ann.look()
    await bob.look()
    keeper = (await bob.folders.get(bob.root)).folder.facts.keeper
    pinned = await keeper.pin_again((await bob.fact(WADE)).id)
    assert (pinned.author, pinned.fact.fact_type) == (None, FactType.PINNED)
    await bob.look()
    await ann.look()
    assert await ann.said() == await bob.said() == [WADE]
    # Closed by its author, it is not opened again because somebody has pinned it.
    await ann.run(facts.close, (await ann.fact(WADE)).id, utc_now())
    for each in (ann, bob, ann, bob):
        await each.look()
    assert await ann.said() == []
    assert [each.fact.fact_type for each in await bob.facts()] == [FactType.PINNED]


async def test_ones_own_facts_of_another_machine_are_ones_own(checkout: Open) -> None:
    laptop, desk = await checkout("ann"), await checkout("ann", machine="desk")
    await laptop.note(WADE, Place("svc/bird.py", symbol="wade"))
    await laptop.share()
    await desk.share()
    assert [(each.fact.content, each.author) for each in await desk.facts()] == [(WADE, None)]
    assert (await desk.states())[WADE] == [FactState.FRESH]
    await desk.run(facts.close, (await desk.fact(WADE)).id, utc_now())
    await desk.look()
    await laptop.look()
    assert await laptop.said() == []


async def test_who_left_the_team_reads_and_pushes_nothing_more(both: Sequence[Checkout], lab: Lab) -> None:
    ann, bob = both
    await ann.note(WADE)
    await ann.look()
    await bob.look()
    where = "WHERE team = %s AND member = %s"
    lab.owner.execute(f"UPDATE hub.membership SET role = 'left' {where}", [ann.team.id, ann.team.ids["bob"]])
    await ann.note(FLY)
    await ann.look()
    await bob.note("The stork is on the roof.")
    await bob.look()
    await ann.look()
    assert await bob.said() == [WADE, "The stork is on the roof."]
    assert await ann.said() == [WADE, FLY]


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 7, 11, 24, 52])
async def test_whatever_is_done_in_whatever_order_all_end_with_the_same_facts(checkout: Open, seed: int) -> None:
    chance = random.Random(seed)
    flock = [await checkout("ann"), await checkout("ann", machine="desk"), await checkout("bob")]
    for each in flock:
        await each.share()
    texts = [f"Heron {number} stands in the reeds." for number in range(5)]
    forgotten: set[str] = set()

    def act(what: str, text: str) -> None:
        ids = [fact_id for (fact_id,) in execute("SELECT id FROM fact WHERE content = ? ORDER BY id DESC", text)]
        if what == "note" and not facts.is_forgotten(fact := Fact(FactType.DECISION, text)) and not facts.saying(fact):
            facts.add(fact, 1, None, utc_now())
        elif ids and what == "close":
            facts.close(ids[0], utc_now())
        elif ids and what == "verify":
            facts.verify(ids[0], utc_now())
        elif what == "forget" and any(each.is_shared for each in facts.read(ids)):
            facts.forget(ids)  # one that the team does not have is forgotten here alone
            forgotten.add(text)

    for _ in range(60):
        each = chance.choice(flock)
        what = chance.choice(("note", "note", "close", "verify", "look", "look", "look", "forget"))
        if what == "look":
            await each.look()
        elif what != "forget" or chance.random() < 0.3:
            await each.run(act, what, chance.choice(texts))
    for _ in range(3):
        for each in flock:
            await each.look()
    # A statement that a store learns after all have forgotten it is not shared.
    said = [sorted(fact.fact.content for fact in await each.facts() if fact.is_shared) for each in flock]
    assert said[0] == said[1] == said[2]
    assert not set(said[0]) & forgotten
