"""Small wrongs that somebody could make: each takes one safeguard out of the product."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Mutant:
    """A text that occurs once in a file of the product, and the text that replaces it."""

    name: str
    file: str
    """Below `server/palimpsest`."""
    before: str
    after: str
    also: tuple[str, str] | None = None
    """A second text of the file, and what stands there instead."""
    profile: str | None = None
    """Of the seeds that are gone through: one in which it may be seen; None: each seed's own."""


_SHARING: Final = (
    Mutant(
        "a turn begins on top of less than the hub has",
        "services/sharing/sharing.py",
        "if await self._is_on_top(theirs) and not await send_waiting(self, theirs):",
        "if not await send_waiting(self, theirs):",
    ),
    Mutant(
        "a purge while the hub is away is not sent later",
        "services/sharing/purges.py",
        "            raise\n        await sharing.store.run(shared.intend_purge, at, first, after)\n",
        "            raise\n",
    ),
    Mutant(
        "the store's lease is given back once the hub has answered",
        "services/sharing/sharing.py",
        "        given = self.contexts.leases.give_back(mine, self.changed)\n"
        "        if theirs is not None:\n"
        "            await _is_done(self.hub.release(theirs))\n",
        "        if theirs is not None:\n"
        "            await _is_done(self.hub.release(theirs))\n"
        "        given = self.contexts.leases.give_back(mine, self.changed)\n",
    ),
    Mutant(
        "a purge concerns what was there when it was asked for",
        "services/conversation/purge.py",
        "        while self.everywhere is not None and scope.stretches != sent:",
        "        if self.everywhere is not None and scope.stretches != sent:",
    ),
    Mutant(
        "what was said apart is not pushed when the hub is back",
        "services/sharing/sharing.py",
        "        if await self.store.read(outgoing.has_unpushed, conversation_id):\n            return True\n",
        "",
    ),
    Mutant(
        "purges of others are passed over",
        "storage/sharing/arrivals.py",
        "                purged = _purge(writer, conversation_id, entry)\n",
        "                purged: list[ConversationId] = []\n",
    ),
    Mutant(
        "forks stay where moved messages were",
        "storage/sharing/apart.py",
        "    _move_forks(conversation_id, fork, start)\n",
        "",
    ),
    Mutant(
        "what moved apart is chained as where it was",
        "storage/sharing/apart.py",
        "        head = message_digest(head, fork,",
        "        head = message_digest(head, conversation_id,",
    ),
    Mutant(
        "what is stored in a shared conversation is not cleaned",
        "storage/conversation/message_log.py",
        "    return [cleaner.content(content) for content in contents]\n",
        "    return list(contents)\n",
    ),
    Mutant(
        "roll backs are not pushed",
        "storage/sharing/outgoing.py",
        "        yield NewEntry(EntryKind.HIDDEN,",
        "        if False:\n            yield NewEntry(EntryKind.HIDDEN,",
    ),
    Mutant(
        "another incarnation of the hub is not compared",
        "services/sharing/sharing.py",
        "            if found.incarnation != standing.incarnation or found.head_seq < standing.hub_seq:",
        "            if False:",
    ),
    Mutant(
        "a purge leaves the title that the hub has",
        "storage/lifecycle/purge.py",
        '        execute("UPDATE shared_conversation SET title = ? WHERE conversation = ?", _NO_TITLE, each)\n',
        "        pass\n",
    ),
    Mutant(
        "a member who has left keeps what is shared no longer",
        "services/sharing/sharing.py",
        "        await self.store.run(shared.detach, conversation_id)\n",
        "",
    ),
)
"""Of conversations that are shared; the seeds are of that profile."""

MUTANTS: Final = (
    *(replace(each, profile="sharing") for each in _SHARING),
    # ------------------------------------------------------------------------------------------------------ leases
    Mutant(
        "a lease that was acquired for a cancelled request is kept",
        "services/leases.py",
        "if is_over:  # nobody waits for it any more",
        "if False:",
    ),
    Mutant(
        "a lease that could not be given back is not tried again",
        "services/leases.py",
        "self.background.start(None, self._settle_later(conversation_id))",
        "pass",
        profile="machines",
    ),
    Mutant(
        "a server's own lease keeps no other request of it out",
        "storage/leases.py",
        "    if server is not None and writer.is_alive(server):\n",
        "    if server not in (None, writer.server_id) and writer.is_alive(server):\n",
    ),
    Mutant(
        "a server that lost its lease writes on",
        "storage/leases.py",
        "    if holder_of(lease.conversation_id) != lease:\n",
        "    if False:\n",
        profile="deaths",
    ),
    Mutant(
        "a dead server's turn is left open when another takes its conversation over",
        "storage/turns/turns.py",
        "bool(close_open_turns(conversation_id, writer.now))",
        "False",
        profile="deaths",
    ),
    Mutant(
        "dead servers' turns are not closed when a folder is opened",
        "app/compose.py",
        "await store.run(turns.recover, store.writer(utc_now()))",
        "pass",
        profile="servers",
    ),
    # ------------------------------------------------------------------------------------------------------- turns
    Mutant(
        "a step that began as its turn was cancelled is not closed",
        "storage/turns/turns.py",
        "    _close_steps(lease.conversation_id, turn_id, ending, now)\n",
        "",
        profile="answers",
    ),
    Mutant(
        "a turn that was stopped is closed before its journal is written",
        "services/turns/run.py",
        "            await step.journal.finish()\n",
        "",
        profile="answers",
    ),
    Mutant(
        "an answer is committed before its journal is written",
        "services/turns/run.py",
        "    await step.journal.append(done_event(step.usage))\n    await step.journal.drain()\n",
        "    await step.journal.append(done_event(step.usage))\n",
    ),
    Mutant(
        "what is said is shown before it is durable",
        "services/turns/journal.py",
        "        if self._pending:\n            self._begin_write()\n        self.show(write.result())\n",
        "        if self._pending:\n            self._begin_write()\n",
        also=(
            "        write.add_done_callback(functools.partial(self._end_write, batch, data))\n",
            "        write.add_done_callback(functools.partial(self._end_write, batch, data))\n"
            "        self.show([Numbered(0, event) for event in batch])\n",
        ),
        profile="machines",
    ),
    Mutant(
        "the same request again is another turn",
        "storage/turns/turns.py",
        "    if (existing := turn_records.find_requested(request.id)) is not None:\n"
        "        return Admission(existing, None, None)\n",
        "",
        profile="answers",
    ),
    Mutant(
        "a message that nothing makes room for is admitted",
        "services/context/admission.py",
        "        trial.fitting.check()\n        return accepted",
        "        return accepted",
        profile="cuts",
    ),
    # ------------------------------------------------------------------------------------------------------ memory
    Mutant(
        "memory is not compared with what was hidden last",
        "services/context/engine.py",
        "*(known.cut.version, known.last_hidden, known.last_injection),",
        "*(known.cut.version, stands[1], known.last_injection),",
        profile="answers",
    ),
    Mutant(
        "two loads of one conversation make two states",
        "services/context/engine.py",
        "if (context := self._written.get(record.id)) is not None:  # somebody",
        "if (context := None) is not None:  # somebody",
        also=(
            "            if (others := self._loading.get(conversation_id)) is not None:\n",
            "            if (others := None) is not None:\n",
        ),
        profile="servers",
    ),
    Mutant(
        "what is told to a turn is not held against what the folder knows by then",
        "services/context/requests.py",
        "                knowledge.require(known)\n",
        "                pass\n",
        profile="purges",
    ),
    Mutant(
        "what a conversation teaches is not held against what others have taught by then",
        "services/facts/librarian.py",
        "        knowledge.require(version)\n",
        "        pass\n",
        profile="files",
    ),
    Mutant(
        "what a cut leaves out is not stored with it",
        "storage/context/cuts.py",
        "cut.front, json.dumps(cut.left_out)),",
        'cut.front, "[]"),',
        profile="cuts",
    ),
    Mutant(
        "previews are not stored with a cut",
        "storage/context/cuts.py",
        "    write_previews(conversation_id, cut.version, previews)\n",
        "",
        profile="cuts",
    ),
    # -------------------------------------------------------------------------------------------------- rolling back
    Mutant(
        "what is hidden leaves its summaries in the context",
        "storage/context/visibility.py",
        "gone = [each.id for each in blocks if not summary_tree.is_usable(each, hidden)]",
        "gone = []",
        profile="cuts",
    ),
    Mutant(
        "the newest summary counts as written after what was hidden",
        "storage/context/summary_tree.py",
        "summary.id <= each.last_summary and",
        "summary.id < each.last_summary and",
        profile="cuts",
    ),
    Mutant(
        "a roll back begins within an exchange",
        "services/conversation/history.py",
        "return max((start for start in starts if start <= message_id), default=message_id)",
        "return message_id",
        profile="cuts",
    ),
    Mutant(
        "the first of the hidden messages is read as visible",
        "storage/conversation/message_log.py",
        "return [message for message in found if not any(each.start <= message.id < each.end for each in ranges)]",
        "return [message for message in found if not any(each.start < message.id < each.end for each in ranges)]",
        profile="cuts",
    ),
    Mutant(
        "hidden passages are still found",
        "storage/conversation/hidden_ranges.py",
        "    passages.refresh(conversation_id, start, end)\n",
        "",
        profile="purges",
    ),
    Mutant(
        "a discarded answer keeps its facts and its summaries",
        "storage/turns/recovery.py",
        "return visibility.hide(conversation_id, start, end, now)",
        "hidden_ranges.add(conversation_id, start, end, now)\n"
        "    return HidingEffect(hidden_ranges.last_hidden(conversation_id), False, False)",
        profile="answers",
    ),
    Mutant(
        "what another conversation was told of hidden facts stays told",
        "storage/context/visibility.py",
        "            cuts.add_cut_without(teller, (), now)\n",
        "            pass\n",
        profile="servers",
    ),
    # ---------------------------------------------------------------------------------------------- summaries, forks
    Mutant(
        "no rule stands at the head of a summary",
        "domain/context/rules/rule_set.py",
        'return "\\n".join([HEADING, *items]) if items else ""',
        'return ""',
        profile="cuts",
    ),
    Mutant(
        "a fork inherits summaries that reach beyond it",
        "storage/context/inheritance.py",
        "summaries = [each for each in summary_tree.read(parent) if each.end <= at]",
        "summaries = [each for each in summary_tree.read(parent) if each.start < at]",
        profile="cuts",
    ),
    Mutant(
        "a fork shows what its parent hides",
        "storage/context/inheritance.py",
        "    for each in hidden:\n"
        "        hidden_ranges.add(child, each.start, min(each.end, at), now)\n    cut = cuts.latest_cut(parent)",
        "    cut = cuts.latest_cut(parent)",
        profile="cuts",
    ),
    Mutant(
        "a fork is chained to the message behind it",
        "storage/conversation/conversations.py",
        'message_id = ?", owner, at - 1).fetchone()',
        'message_id = ?", owner, at).fetchone()',
        profile="cuts",
    ),
    # ------------------------------------------------------------------------------------------------------- imports
    Mutant(
        "a copy that is imported keeps the turns of its original",
        "services/conversation/transfer.py",
        "    turn_ids = {turn_id: TurnId(machine.new_id()) for turn_id in ids if turn_id is not None}\n",
        "    turn_ids = {turn_id: turn_id for turn_id in ids if turn_id is not None}\n",
        profile="transfers",
    ),
    Mutant(
        "the messages of an imported copy belong to no turn",
        "domain/transfer/conversation.py",
        "        turn = None if old.turn is None else turn_ids[old.turn]\n",
        "        turn = None\n",
        profile="transfers",
    ),
    # ------------------------------------------------------------------------------------------------------- purging
    Mutant(
        "a purge stops half-way when its request is cancelled",
        "services/conversation/purge.py",
        "return await asyncio.shield(work)",
        "return await work",
        profile="purges",
    ),
    Mutant(
        "the files are not written anew after a purge",
        "services/conversation/purge.py",
        "await asyncio.to_thread(purging.rewrite_files, store.directory)\n",
        "pass\n",
        profile="purges",
    ),
    Mutant(
        "a purge that was cut off is not gone on with",
        "app/compose.py",
        "            folder.background.start(None, resume(session.purging))\n",
        "            pass\n",
        profile="servers",
    ),
    Mutant(
        "what was told to turns outlives a purge",
        "storage/lifecycle/purge.py",
        '    execute("DELETE FROM injection WHERE conversation = ?", conversation_id)\n',
        "",
        profile="purges",
    ),
    Mutant(
        "purged words stay in the index of passages",
        "storage/conversation/pending_work.py",
        "        passages.remove(row_id, content)\n",
        "",
        profile="purges",
    ),
    Mutant(
        "a title made of purged words stays",
        "storage/lifecycle/purge.py",
        "        if (original := unforked(record.title)) in titles:\n",
        "        if (original := unforked(record.title)) in ():\n",
        profile="purges",
    ),
    Mutant(
        "facts of purged messages stay",
        "storage/lifecycle/purge.py",
        "    facts.remove(_facts_of(scope.stretches))\n",
        "",
        profile="purges",
    ),
    # --------------------------------------------------------------------------------------------- in the background
    Mutant(
        "what was hidden while it was read is learned",
        "services/facts/backlog.py",
        " or self.is_outdated():",
        ":",
        profile="servers",
    ),
    Mutant(
        "hidden messages are read for facts",
        "services/facts/backlog.py",
        "shown = [m for m in messages if m.purged is None and not any(h.start <= m.id < h.end for h in hidden)]",
        "shown = [m for m in messages if m.purged is None]",
        profile="purges",
    ),
    Mutant(
        "nobody looks again before a helping model is asked",
        "services/models/helper.py",
        "        await check()\n",
        "",
        profile="servers",
    ),
    Mutant(
        "a summary of what was hidden meanwhile is stored",
        "storage/context/summary_tree.py",
        "    if hidden_since(conversation_id, new.start, new.end, last_hidden):\n        return None\n",
        "",
        profile="servers",
    ),
    # ----------------------------------------------------------------------------------------------- tools, approvals
    Mutant(
        "a tool runs although the user said no",
        "services/tools/approvals.py",
        "            case Answer.ONCE | Answer.ALWAYS:\n",
        "            case Answer.ONCE | Answer.ALWAYS | Answer.DENY:\n",
        profile="approvals",
    ),
    Mutant(
        "a yes that was meant once is kept",
        "services/tools/approvals.py",
        "(answer is Answer.ALWAYS and request.may_be_always):",
        "(answer in (Answer.ALWAYS, Answer.ONCE) and request.may_be_always):",
        profile="approvals",
    ),
    Mutant(
        "an answer is taken for that to the oldest question",
        "lsp/runtime/outgoing.py",
        "future = self._futures.get(reply.id) if is_message_id(reply.id) else None",
        "future = next(iter(self._futures.values()), None)",
        also=("name = self._names[reply.id]", "name = next(iter(self._names.values()))"),
        profile="approvals",
    ),
    Mutant(
        "trust that is taken back while the user is asked counts for the next turn",
        "services/tools/approvals.py",
        "        self._require_trust()  # it may have been taken back while the user was asked\n",
        "",
        profile="approvals",
    ),
    Mutant(
        "what a program left is not ended when its turn is cancelled",
        "services/tools/run_command.py",
        "        control.close()\n",
        "",
        profile="approvals",
    ),
    Mutant(
        "a question stays on the other screens when one has answered",
        "services/tools/approvals.py",
        "            for task in asked:\n"
        "                task.cancel()  # removes the question from the other screens\n"
        "            await asyncio.gather(*asked, return_exceptions=True)\n",
        "            pass\n",
        profile="approvals",
    ),
    # --------------------------------------------------------------------------------------- who changes their mind
    Mutant(
        "what a rolled-back message had closed stays closed",
        "storage/facts/facts.py",
        "    hold_again(conversation_id, start, end)\n    found",
        "    found",
        profile="minds",
    ),
    Mutant(
        "a purge leaves what was forgotten of the messages",
        "storage/lifecycle/purge.py",
        "    forgotten_facts.drop_of(scope.stretches)\n",
        "",
        profile="minds",
    ),
    Mutant(
        "a fact of a hidden message holds when it is restored",
        "storage/lifecycle/forgotten_facts.py",
        "if any(each.start <= said.message_id < each.end for each in hidden):",
        "if False:",
        profile="minds",
    ),
    Mutant(
        "a fork forgets what was taken back",
        "services/conversation/conversations.py",
        "            commanded_rules.inherit(child, conversation_id, at, utc_now())\n",
        "",
        profile="minds",
    ),
    Mutant(
        "an answer that was tried again is offered for ever",
        "storage/turns/recovery.py",
        "        _set_resolution(ended, how)\n",
        "        pass\n",
        profile="answers",
    ),
    Mutant(
        "the draft stays when the message is sent",
        "storage/turns/turns.py",
        '    if record.draft:\n        conversations.set_draft(conversation_id, "", now)\n',
        "",
        profile="minds",
    ),
    Mutant(
        "the fact of a rule that a command takes back stays",
        "services/context/rule_commands.py",
        "                facts.close_ruled(conversation_id, entry.id.message_id, entry.text, utc_now())\n",
        "                pass\n",
        profile="minds",
    ),
    # ------------------------------------------------------------------------------------------------ past requests
    Mutant(
        "a past request forgets where the model was asked to go on",
        "domain/context/sent_request.py",
        "tuple(each for each in live if each in behind)",
        "()",
        profile="answers",
    ),
    Mutant(
        "a past request takes a preview for its message",
        "domain/context/sent_request.py",
        "ChangedEntry(piece.start, piece.preview is not None,",
        "ChangedEntry(piece.start, False,",
    ),
    Mutant(
        "a past request forgets what was told behind a message",
        "services/context/requests.py",
        "injection_ids=(*added.injection_ids, injection_id)",
        "injection_ids=()",
        profile="minds",
    ),
    Mutant(
        "a past request is shown with purged rules in front",
        "services/context/past_requests.py",
        "    if cut is None or not cut.front:\n",
        "    if cut is None:\n",
        profile="minds",
    ),
    Mutant(
        "a note quotes what was hidden while it was chosen",
        "services/context/requests.py",
        "            if hidden_ranges.last_hidden(state.id) != last_hidden:\n",
        "            if False:\n",
        profile="purges",
    ),
    Mutant(
        "a note makes a compaction due",
        "services/context/requests.py",
        "if not (text := chosen.text) or (with_note := state.with_note(text)).estimate.upper > most:",
        "if not (text := chosen.text) or (with_note := state.with_note(text)) is None:",
        profile="minds",
    ),
)
