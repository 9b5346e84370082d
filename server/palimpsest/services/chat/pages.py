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
from palimpsest.domain.web import Fetched, Reach, WebAddress, read_address
from palimpsest.machine import machine
from palimpsest.machine.extras import Extra, missing
from palimpsest.services.chat.attachments import MAX_BYTES, Snapshot, text_snapshot
from palimpsest.services.folder.session import OpenFolder
from palimpsest.services.tools.approvals import Approvals
from palimpsest.services.tools.toolbox import TurnScope
from palimpsest.workers.page_text import NOT_INSTALLED

MAX_PAGES: Final = 5
"""The most pages of one message. With more, nothing is fetched."""
MAX_SITES: Final = 4
"""The most sites that lead on to one another."""
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
_DECODED_AT_ONCE: Final = 64 * 1024
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
            for site in dict.fromkeys(each.site for each in addresses):
                await self._require_consent([each for each in addresses if each.site == site])
            return [await self._fetch(each) for each in addresses]
        except InvalidRequest as error:
            return [Snapshot(mentioned[0], problem=str(error))]

    async def _require_consent(self, addresses: Sequence[WebAddress], led_from: str | None = None) -> None:
        """Raises InvalidRequest unless the user agrees to ask the site of these pages, now or earlier in the
        conversation. `led_from`: the host that leads on to it."""
        site = addresses[0].site
        agreed = self.conversation_id, site
        request = page_request(site, [each.url for each in addresses], led_from)
        approvals = Approvals(self.folder.store, self.folder.editors, self.folder.trust)
        answer: Answer | None = await approvals.kept(request)  # "never" counts before everything else
        if answer is None:
            if agreed in self.folder.agreed_hosts or addresses[0].is_among(self.settings.hosts):
                return
            answer = await approvals.answer(TurnScope(self.conversation_id, TurnId("")), request)
        if answer is None and self.ask_plainly is not None:
            answer = Answer.ONCE if await self.ask_plainly(f"{request.title} {request.shown}") else Answer.DENY
        match answer:
            case Answer.ONCE:
                self.folder.agreed_hosts.add(agreed)
            case Answer.ALWAYS:  # kept, as long as it is not taken back
                return
            case Answer.NEVER:
                raise InvalidRequest(
                    f"You said that pages of {site} are never fetched. `/approvals` lists that, and takes it back."
                )
            case _:
                raise InvalidRequest(
                    f"Nothing was fetched from {site}, because you did not agree. Send the message again and agree, "
                    f'or put the host into your config.toml: `web.hosts = ["{site}"]`. Or paste the text.'
                )

    async def _fetch(self, address: WebAddress) -> Snapshot:
        """Raises InvalidRequest."""
        found = await self._follow(address)
        text = await _text_of(found)
        if (size := len(text.encode("utf-8", "replace"))) > MAX_BYTES:
            raise InvalidRequest(
                f"The page of {found.address.place} has {size:,} bytes of text, but an attachment may have at most "
                f"{MAX_BYTES:,}. Save what matters into a file of the folder, and mention that."
            )
        led = "" if found.address == address else f", led on to {found.address.url}"
        at = machine.now().strftime("%Y-%m-%d %H:%M")
        return text_snapshot(f"{address.url} (fetched {at} UTC{led})", text)

    async def _follow(self, first: WebAddress) -> Fetched:
        """What is there, with the user's word for each site on the way. Raises InvalidRequest."""
        at, reach = first, Reach(frozenset(self.settings.allow_private), self.settings.proxy)
        for _ in range(MAX_SITES):
            found = await self.folder.fetch_page(at, reach)
            if isinstance(found, Fetched):
                return found
            await self._require_consent([found], at.place)
            at, reach = found, Reach(through_proxy=reach.through_proxy)  # no page leads to what is private
        raise InvalidRequest(f"{first.place} leads on over more than {MAX_SITES} sites, so the page was not fetched.")


async def _text_of(found: Fetched) -> str:
    """The text of what was fetched. Raises InvalidRequest."""
    place = found.address.place
    is_page = found.media_type in _PAGES
    if found.media_type and not is_page and not _TEXTS.fullmatch(found.media_type):
        kind = " ".join(found.media_type.split())[:80]
        raise InvalidRequest(f"What {place} gave is {kind!r}, and only web pages and texts can be attached.")
    text = await _decoded(found, is_page=is_page)
    if "\0" in text:
        raise InvalidRequest(f"What {place} gave is no text, so it is not attached.")
    if is_page and text.strip():
        text = await _extracted(text, place)
    if not text.strip():
        why = " It may be made by a script, which is not run." if is_page and found.body else ""
        raise InvalidRequest(f"The page of {place} has no text.{why}")
    return text


async def _decoded(found: Fetched, *, is_page: bool) -> str:
    """The text, whatever the host says of its encoding: what does not fit becomes U+FFFD."""
    body = found.body
    mark, encoding = next((each for each in _MARKS if body.startswith(each[0])), (b"", found.charset))
    if not encoding and is_page and (meta := _META_CHARSET.search(body[:_META_BYTES])) is not None:
        encoding = meta[1].decode("ascii")
    try:
        decoder = codecs.getincrementaldecoder(encoding if mark or _CHARSETS.fullmatch(encoding) else "utf-8")(
            "replace"
        )
    except LookupError:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
    pieces = list[str]()
    for first in range(len(mark), len(body), _DECODED_AT_ONCE):  # some decoders need seconds for all of it
        pieces.append(decoder.decode(body[first : first + _DECODED_AT_ONCE]))
        await asyncio.sleep(0)
    return "".join([*pieces, decoder.decode(b"", True)])


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
