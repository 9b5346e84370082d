"""The commands about whole conversations and their messages: new, fork, rename, rollback, purge, search, export."""

from __future__ import annotations

import os
from pathlib import Path

from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import MessageId
from palimpsest.services.chat.commands.file_changes import EDITS, said_of
from palimpsest.services.chat.commands.markdown import code, plain
from palimpsest.services.chat.commands.scope import Reply, Scope, message_range, number
from palimpsest.services.chat.commands.sharing import purge_elsewhere, purged_elsewhere
from palimpsest.services.conversation.purge import set_aside
from palimpsest.services.conversation.search import Wanted, find
from palimpsest.services.conversation.transfer import Transfers
from palimpsest.wording import counted


async def new(scope: Scope, title: str) -> Reply:
    record = await scope.conversations.create(title or None, None)
    return Reply("A new conversation begins with your next message.", record.id)


async def fork(scope: Scope, argument: str) -> Reply:
    after = MessageId(number(argument, "/fork N, with the number of the last message to keep")) if argument else None
    record = await scope.conversations.fork(scope.conversation_id, after, None)
    return Reply(f"The chat continues in a fork with {counted(record.n_messages, 'message')}.", record.id)


async def rename(scope: Scope, title: str) -> Reply:
    record = await scope.conversations.rename(scope.conversation_id, title)
    return Reply(f"The title of this conversation is now “{plain(record.title)}”.")


async def rollback(scope: Scope, argument: str) -> Reply:
    words = argument.split()
    takes_back = words[-1:] == [EDITS]
    written = " ".join(words[:-1] if takes_back else words)
    first = MessageId(number(written, "/rollback N, with the number of the first message to hide")) if written else None
    done = await scope.conversations.roll_back(scope.conversation_id, first)
    hidden = (
        f"Message {done.start} is" if done.start == done.end - 1 else f"Messages {done.start} to {done.end - 1} are"
    )
    said = f"{hidden} hidden. You can still read what was said."
    said = f"{said} What you had typed there is your draft now." if done.draft else said
    if takes_back:
        files = await scope.session.folder.changes.take_back_range(scope.conversation_id, done.start, done.end)
        said = f"{said}\n\n{said_of(files)}"
    return Reply(said, draft=done.draft)


async def purge(scope: Scope, argument: str) -> Reply:
    words = argument.split()
    is_confirmed = words[-1:] == ["yes"]
    which = " ".join(words[:-1] if is_confirmed else words)
    wanted, purging = message_range(which, "/purge A-B"), scope.session.purging
    if not is_confirmed:
        would = await purging.what_would_go(scope.conversation_id, wanted)
        lines = [plain(would), await purge_elsewhere(scope, wanted)]
        lines.append(f"To delete it, type `/purge {f'{which} ' if which else ''}yes`.")
        return Reply("\n\n".join(filter(None, lines)))
    done = await purging.purge(scope.conversation_id, wanted, is_confirmed=True)
    said = [f"The content of {counted(done.n_contents, 'message')}, and all that was derived from it, is deleted."]
    if done.others:
        said.append(f"So are the same messages in {counted(len(done.others), 'other conversation')}.")
    said += filter(None, [await purged_elsewhere(scope)])
    said.append("A purge cannot reach what was sent to a model's service, nor the input history of your terminal.")
    said += [
        f"{code(path)} may still hold the text. Delete that file when you do not need it."
        for path in set_aside(scope.session.folder.store.directory)
    ]
    return Reply(" ".join(said))


async def search(scope: Scope, text: str) -> Reply:
    hits = await find(scope.session.folder.store, Wanted(text))
    if not hits:
        return Reply("No message in this folder's conversations matches.")
    lines = [
        f"- **{plain(hit.title) or 'untitled'}**, message {hit.message_id}, {hit.role.value}: {plain(hit.snippet)}"
        for hit in hits
    ]
    return Reply("\n".join(lines))


async def export(scope: Scope, argument: str) -> Reply:
    conversation_id = scope.conversation_id
    path = _file_of(scope.session.folder.root, argument or f"conversation-{conversation_id[:8]}.jsonl")
    done = await Transfers(scope.conversations).export_to(conversation_id, path, overwrites=False)
    return Reply(
        f"Wrote {counted(done.n_messages, 'message')} to {code(str(path))}. Anyone who can read that file can read the "
        "whole conversation."
    )


def _file_of(root: Path, written: str) -> Path:
    """The file that a user means. A relative path is relative to the workspace folder."""
    if "\0" in written:
        raise InvalidRequest("The path of a file cannot contain control characters.")
    return root / os.path.expanduser(written)
