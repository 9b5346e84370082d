"""Pictures in turns: kept beside their message, shown to the model, named where they are not, brought back, carried
along, and gone when nothing names them any more."""

from __future__ import annotations

import base64
import contextlib
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.services.scripted import Action, calls, says
from tests.services.tool_desk import ToolDesk, open_desk

from palimpsest.domain.context.cut import MessagePiece
from palimpsest.domain.context.notebook.entry import Reader
from palimpsest.domain.context.previews import without_images
from palimpsest.domain.context.tokens import count_bytes
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import Content, MessageId, Role, TextPart, ToolCallPart, tool_result
from palimpsest.domain.transfer.file_format import decode
from palimpsest.domain.turns.journal import Ending, EventType, JournalEvent, image_event, to_messages
from palimpsest.services.chat.attachments import FileAttachment, PictureAttachment, take_snapshots, user_content
from palimpsest.services.context.past_requests import past_request
from palimpsest.services.conversation.transfer import Outcome, Transfers
from palimpsest.services.maintenance.rescue import rescue
from palimpsest.services.models.tokenizers import Tokenizers
from palimpsest.services.workspace.files import WorkspaceFiles
from palimpsest.services.workspace.pictures import take
from palimpsest.services.workspace.texts import WorkspaceTexts
from palimpsest.storage import contents
from palimpsest.storage.directory import DATABASE_NAME
from palimpsest.storage.sql import execute
from palimpsest.storage.turns import stream_journal

Desk = Callable[..., Awaitable[ToolDesk]]
SEES = {"models": {"offline": {"images": True}}}


def png(width: int = 60, height: int = 40, color: str = "red") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), color).save(out, "PNG")
    return out.getvalue()


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory: pytest.TempPathFactory) -> Tokenizers:
    return Tokenizers(tmp_path_factory.mktemp("vocabularies"))


@pytest.fixture
async def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokenizers: Tokenizers) -> AsyncIterator[Desk]:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "login.png").write_bytes(png())
    async with contextlib.AsyncExitStack() as stack:

        async def open_one(replies: list[list[Action]], **options: Any) -> ToolDesk:
            options = {"settings": SEES, **options}
            return await stack.enter_async_context(open_desk(tmp_path, monkeypatch, tokenizers, replies, **options))

        yield open_one


async def ask(b: ToolDesk, text: str, *pictures: bytes, path: str | None = None) -> str:
    texts = WorkspaceTexts(WorkspaceFiles(b.session.folder.root), {})
    wanted = [PictureAttachment(f"p{n}.png", data) for n, data in enumerate(pictures)]
    said = user_content(text, await take_snapshots(texts, [FileAttachment(path)] if path else wanted))
    running = await b.session.turns.start(b.conversation_id, text, said.content, None, said.pictures)
    assert not isinstance(running, str)
    return (await running.wait()).state.value


def shown(b: ToolDesk, request: int = -1) -> list[bytes]:
    """The pictures that the model saw with a request."""
    return [base64.b64decode(each) for each in b.provider.seen[request].pictures.values()]


async def kept(b: ToolDesk) -> int:
    (n,) = await b.store.read(lambda: execute("SELECT COUNT(*) FROM content").fetchone())
    return int(n)


async def test_a_picture_of_the_folder_is_shown_and_stays_in_later_requests(desk: Desk) -> None:
    b = await desk([says("A red page."), says("Yes.")])
    assert await ask(b, "What is this?", path="login.png") == "committed"
    picture = take("login.png", png())
    assert shown(b) == [picture.data]
    assert await b.ask("Sure?") == "committed"
    assert shown(b) == [picture.data]
    assert b.provider.seen[0].lines() == b.provider.seen[1].lines()[: len(b.provider.seen[0].lines())]
    page = await b.session.conversations.read(b.conversation_id, None, 10)
    assert page.messages[0].content.images == (picture.part,)
    rows = await b.store.read(lambda: execute("SELECT content FROM message").fetchall())
    assert not any(base64.b64encode(picture.data).decode()[:40] in text for (text,) in rows)


async def test_a_request_with_pictures_is_shown_again_byte_for_byte(desk: Desk) -> None:
    b = await desk([says("Red.")])
    await ask(b, "Which?", png())
    page = await b.session.conversations.read(b.conversation_id, None, 10)
    turn_id = page.messages[0].turn_id
    assert turn_id is not None
    past = await past_request(b.session.contexts, b.conversation_id, turn_id, None)
    assert past.is_same
    assert past.context.estimated_tokens == b.provider.seen[0].estimated_tokens


async def test_a_message_may_be_a_picture_alone(desk: Desk) -> None:
    b = await desk([says("Red."), says("Red again.")])
    assert await ask(b, " \n", png()) == "committed"
    assert shown(b) == [take("p0.png", png()).data]
    assert await b.ask("Sure?") == "committed"
    page = await b.session.conversations.read(b.conversation_id, None, 10)
    assert [part.type for part in page.messages[0].content.parts] == ["image"]
    with pytest.raises(InvalidRequest, match="no readable character"):
        await ask(b, " \n")


async def test_a_stored_picture_of_another_format_is_shown_to_no_model_and_breaks_nothing(desk: Desk) -> None:
    """Somebody else wrote into the store."""
    b = await desk([says("Red."), says("Yes.")])
    await ask(b, "Which?", png())
    change = "UPDATE message SET content = replace(content, 'image/png', 'text/html')"
    await b.store.run(lambda: execute(change))
    b.session.contexts.forget(b.conversation_id)
    assert await b.ask("Sure?") == "committed"
    assert shown(b) == []
    page = await b.session.conversations.read(b.conversation_id, None, 10)
    assert page.messages[0].content.images[0].line() == '[image "p0.png", 60x40]'


async def test_a_model_that_sees_nothing_refuses_a_picture_before_anything_is_stored(desk: Desk) -> None:
    b = await desk([says("never")], settings={"models": {"offline": {"images": False}}})
    with pytest.raises(InvalidRequest, match="sees no pictures"):
        await ask(b, "What is this?", png())
    assert (await b.said(), await kept(b), b.provider.seen) == ([], 0, [])


async def test_a_tool_shows_a_picture_in_its_result(desk: Desk) -> None:
    b = await desk([calls(("1", "read_file", json.dumps({"path": "login.png"}))), says("Red.")])
    assert await b.ask("Look at login.png") == "committed"
    [result] = [message for message in b.provider.seen[-1].messages if message.role is Role.TOOL]
    assert result.results[0].text == "A picture: login.png, 60 x 40 pixels."
    assert shown(b) == [take("login.png", png()).data]
    assert await b.store.read(contents.size, "step_content") == 0
    assert await b.store.read(contents.size, "message_content") == len(shown(b)[0])


async def test_what_a_picture_takes_is_part_of_the_count_and_never_of_the_factor(desk: Desk) -> None:
    b = await desk([says("1"), says("2")])
    await b.ask("plain")
    before = (await b.session.contexts.state(b.conversation_id)).estimate.mean
    await ask(b, "pictured", png(1_000, 1_000))
    state = await b.session.contexts.state(b.conversation_id)
    assert state.image_tokens == 36 * 36
    assert 36 * 36 < state.estimate.mean - before < 36 * 36 + 60
    assert sum(segment.tokens for segment in state.segments) == state.estimate.mean
    counts = await b.store.read(lambda: execute("SELECT SUM(tokens) FROM token_count").fetchone())
    assert counts[0] < 100, "stored counts hold for every model"


async def test_a_picture_that_became_a_line_is_brought_back_by_its_handle(desk: Desk) -> None:
    b = await desk([says("ok"), calls(("1", "tool_output", '{"message_id": 0, "image": 1}')), says("Red again.")])
    await ask(b, "Keep this", png())
    state = await b.session.contexts.state(b.conversation_id)
    first = state.pieces[0]
    assert isinstance(first, MessagePiece)
    line = without_images(first.message.content, MessageId(0))
    assert line.text.startswith('[image 0:1 "p0.png", 60x40]')
    assert await b.ask("Show it again") == "committed"
    [result] = [message for message in b.provider.seen[-1].messages if message.role is Role.TOOL]
    assert result.images == first.message.content.images
    assert await kept(b) == 1


async def test_a_page_names_the_picture_with_its_handle() -> None:
    picture = take("login.png", png())
    content = Content(Role.USER, (picture.part, TextPart("Here is the broken page.")))
    entry, names = Reader(count_bytes).read(MessageId(7), content)
    assert [each.text for each in entry.said if each.is_pasted] == ['[image 7:1 "login.png", 60x40]']
    assert any("login.png" in name for name in names.values())
    result = tool_result(ToolCallPart("1", "shoot", "{}"), "done", images=[picture.part])
    entry, _ = Reader(count_bytes).read(MessageId(9), result)
    assert '[image 9:1 "login.png", 60x40]' in [each.text for each in entry.fragments]


async def test_a_purge_removes_the_bytes_when_no_other_message_names_them(desk: Desk) -> None:
    b = await desk([says("1"), says("2")])
    await ask(b, "one", png())
    await ask(b, "two", png())
    secret = take("p0.png", png()).data
    assert await kept(b) == 1
    purges = b.session.purging
    await purges.purge(b.conversation_id, (MessageId(0), MessageId(2)), is_confirmed=True)
    assert await kept(b) == 1
    await purges.purge(b.conversation_id, (MessageId(2), MessageId(4)), is_confirmed=True)
    assert await kept(b) == 0
    for path in b.store.directory.rglob("*.db*"):
        assert secret[40:] not in path.read_bytes()


async def test_an_export_carries_the_bytes_and_an_import_checks_them(desk: Desk) -> None:
    b = await desk([says("1")])
    await ask(b, "one", png())
    transfers = Transfers(b.session.conversations)
    text = (await transfers.export(b.conversation_id)).text
    assert decode(text).contents[0].digest == take("p0.png", png()).part.digest
    await b.session.purging.purge(b.conversation_id, None, is_confirmed=True)
    assert await kept(b) == 0
    imported = await transfers.import_text(text)
    assert imported.outcome is Outcome.COPIED
    assert await kept(b) == 1
    other = base64.b64encode(png(color="blue")).decode()
    data = decode(text).contents[0].data
    with pytest.raises(InvalidRequest, match="of no picture"):
        await transfers.import_text(text.replace(data, other))


async def test_a_rescue_carries_the_bytes(desk: Desk, tmp_path: Path) -> None:
    b = await desk([says("1")])
    await ask(b, "one", png())
    directory = b.store.directory
    saved = await rescue(directory / DATABASE_NAME, tmp_path / "rescued")
    assert len(decode(saved.files[0].read_text()).contents) == 1


async def test_a_dead_servers_tool_leaves_its_picture_with_its_result(desk: Desk) -> None:
    """The journal of a step names pictures; the messages that recovery makes of it have them."""
    picture = take("shot.png", png())
    call = ToolCallPart("1", "read_file", "{}")
    events = [
        JournalEvent(EventType.TOOL_CALL, "", "1", "read_file"),
        JournalEvent(EventType.DONE),
        JournalEvent(EventType.TOOL_START, "", "1", "read_file"),
        image_event(picture.part, "1"),
        JournalEvent(EventType.TOOL_RESULT, "A picture.", "1", "read_file"),
    ]
    assert to_messages(events, Ending.INTERRUPTED)[1:] == [tool_result(call, "A picture.", images=[picture.part])]
    assert to_messages(events[:-1], Ending.INTERRUPTED)[1].images == ()
    assert Content.from_json(to_messages(events, Ending.COMPLETE)[1].to_json()).images == (picture.part,)


async def test_the_bytes_of_a_journal_stay_only_as_long_as_something_names_them(desk: Desk) -> None:
    b = await desk([calls(("1", "read_file", json.dumps({"path": "login.png"}))), says("x")])
    running: list[int] = []
    append = stream_journal.append

    def watched(*arguments: Any) -> Any:
        found = append(*arguments)
        running.append(contents.size("step_content"))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream_journal, "append", watched)
        await b.ask("go")
    assert max(running) > 0, "durable before the result is"
    assert await b.store.read(contents.size, "step_content") == 0
