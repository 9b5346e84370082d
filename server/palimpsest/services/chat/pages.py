"""Pages of the web that a message mentions, as `@https://…`: each becomes an attachment of the message.

A page is fetched only for a message that its user sends, and from a host that the user agreed to: a message may hold
pasted text. A page is a stranger's text; its attachment is material like any other.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import re
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from palimpsest import workers
from palimpsest.domain.approvals import Answer, page_request
from palimpsest.domain.errors import InvalidRequest
from palimpsest.domain.messages import ConversationId, TurnId
from palimpsest.domain.settings.settings import WebSettings
from palimpsest.domain.web import Fetched, WebAddress, read_address
from palimpsest.machine import machine
from palimpsest.machine.extras import Extra, missing
from palimpsest.services.chat.attachments import MAX_BYTES, Snapshot, text_snapshot
from palimpsest.services.folder.session import OpenFolder
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.toolbox import TurnScope
from palimpsest.workers.page_text import NOT_INSTALLED

MAX_PAGES: Final = 5
"""The most pages of one message. With more, nothing is fetched."""
_WORKER: Final = Path(workers.__file__).with_name("page_text.py")
_ISOLATED: Final = ("-I",)
_WAYS: Final = (("main", 8.0), ("all", 8.0))
"""The ways to take the text out of a page, with the seconds of each. The second takes far less time."""
_PAGES: Final = ("text/html", "application/xhtml+xml")
_TEXTS: Final = re.compile(
    r"text/[^/]+|application/(json|xml|yaml|toml|javascript|x-(yaml|toml|sh|ndjson|javascript)|sql|[^/]+\+(json|xml|yaml))"
)
_CHARSETS: Final = re.compile(
    r"utf-?(8|16|16le|16be|32)|us-ascii|ascii|latin-?1|iso-?8859-\d{1,2}|windows-\d{3,4}|cp125\d|koi8-[ru]|"
    r"shift[_-]jis|euc-(jp|kr)|iso-2022-jp|gbk|gb2312|gb18030|big5",
    re.IGNORECASE,
)
"""The encodings of texts. Python knows others that are none, or that take for ever."""
_META_CHARSET: Final = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?\s*([A-Za-z0-9_-]{1,40})", re.IGNORECASE)
_META_BYTES: Final = 2_048
_MARKS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

AskPlainly = Callable[[str], Awaitable[bool]]
"""Asks the user of the editor that sent the message whether to fetch, in words; False when they do not agree."""


@dataclass(frozen=True, slots=True)
class Pages:
    """The way to the web of one message that its user sends."""

    folder: OpenFolder
    settings: WebSettings
    conversation_id: ConversationId
    """Where the message is sent; it may be new."""
    ask_plainly: AskPlainly | None = None
    """For when no editor shows approvals."""

    async def take(self, mentioned: Sequence[str]) -> list[Snapshot]:
        """The pages, in order; for each that is not fetched, why. None is fetched before all hosts are agreed to."""
        if len(mentioned) > MAX_PAGES:
            problem = f"A message may mention at most {MAX_PAGES} pages of the web, and this one has {len(mentioned)}."
            return [Snapshot(mentioned[0], problem=problem)]
        try:
            addresses = list(dict.fromkeys(read_address(each) for each in mentioned))
            for place in dict.fromkeys(each.place for each in addresses):
                await self._require_consent([each for each in addresses if each.place == place])
            return [await self._fetch(each) for each in addresses]
        except InvalidRequest as error:
            return [Snapshot(mentioned[0], problem=str(error))]

    async def _require_consent(self, addresses: Sequence[WebAddress]) -> None:
        """Raises InvalidRequest unless the user agrees to ask the host of these pages, now or earlier in the
        conversation."""
        place = addresses[0].place
        agreed = self.conversation_id, place
        if agreed in self.folder.agreed_hosts or addresses[0].is_among(self.settings.hosts):
            return
        request = page_request(place, [each.url for each in addresses])
        approvals = Approvals(self.folder.store, self.folder.editors, self.folder.trust)
        answer = await approvals.answer(TurnScope(self.conversation_id, TurnId("")), request)
        if answer is None and self.ask_plainly is not None:
            answer = Answer.ONCE if await self.ask_plainly(f"{request.title} {request.shown}") else Answer.DENY
        match answer:
            case Answer.ONCE | Answer.ALWAYS:
                self.folder.agreed_hosts.add(agreed)
            case Answer.NEVER:
                raise InvalidRequest(
                    f"You said that pages of {place} are never fetched. `/approvals` lists that, and takes it back."
                )
            case _:
                raise InvalidRequest(
                    f"Nothing was fetched from {place}, because you did not agree. Send the message again and agree, "
                    f'or put the host into your config.toml: `web.hosts = ["{place}"]`. Or paste the text.'
                )

    async def _fetch(self, address: WebAddress) -> Snapshot:
        """Raises InvalidRequest."""
        found = await self.folder.fetch_page(address, frozenset(self.settings.allow_private))
        text = await _text_of(found)
        if (size := len(text.encode("utf-8", "replace"))) > MAX_BYTES:
            raise InvalidRequest(
                f"The page of {found.address.place} has {size:,} bytes of text, but an attachment may have at most "
                f"{MAX_BYTES:,}. Save what matters into a file of the folder, and mention that."
            )
        led = "" if found.address == address else f", led on to {found.address.url}"
        at = machine.now().strftime("%Y-%m-%d %H:%M")
        return text_snapshot(f"{address.url} (fetched {at} UTC{led})", text)


async def _text_of(found: Fetched) -> str:
    """The text of what was fetched. Raises InvalidRequest."""
    place = found.address.place
    is_page = found.media_type in _PAGES
    if found.media_type and not is_page and not _TEXTS.fullmatch(found.media_type):
        kind = " ".join(found.media_type.split())[:80]
        raise InvalidRequest(f"What {place} gave is {kind!r}, and only web pages and texts can be attached.")
    text = _decoded(found, is_page=is_page)
    if "\0" in text:
        raise InvalidRequest(f"What {place} gave is no text, so it is not attached.")
    if is_page and text.strip():
        text = await _extracted(text, place)
    if not text.strip():
        why = " It may be made by a script, which is not run." if is_page and found.body else ""
        raise InvalidRequest(f"The page of {place} has no text.{why}")
    return text


def _decoded(found: Fetched, *, is_page: bool) -> str:
    """The text, whatever the host says of its encoding: what does not fit becomes U+FFFD."""
    for mark, encoding in _MARKS:
        if found.body.startswith(mark):
            return found.body[len(mark) :].decode(encoding, "replace")
    charset = found.charset
    if not charset and is_page and (meta := _META_CHARSET.search(found.body[:_META_BYTES])) is not None:
        charset = meta[1].decode("ascii")
    if not _CHARSETS.fullmatch(charset):
        charset = "utf-8"
    try:
        return found.body.decode(charset, "replace")
    except LookupError:
        return found.body.decode("utf-8", "replace")


async def _extracted(page: str, place: str) -> str:
    """The text of a web page, by a process that can be ended. Raises InvalidRequest."""
    for way, limit_s in _WAYS:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                status, text = await _run_worker(way, page.encode("utf-8", "replace"))
            if status == NOT_INSTALLED:
                raise InvalidRequest(missing(Extra.WEB))
            if status == 0:
                return text.decode("utf-8", "replace")
    raise InvalidRequest(
        f"The page of {place} is too intricate for its text to be taken out. Save what matters into a file of the "
        "folder, and mention that."
    )


async def _run_worker(way: str, page: bytes) -> tuple[int | None, bytes]:
    """Its status and output. Ended, it leaves nothing behind."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, *_ISOLATED, str(_WORKER), way),
        stdin=PIPE,
        stdout=PIPE,
        stderr=subprocess.DEVNULL,
        env=None if sys.platform == "win32" else {},
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
    try:
        output, _ = await process.communicate(page)
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()
    return process.returncode, output
