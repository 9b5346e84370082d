"""The property that holds for any server here: whatever comes, each request is answered once and nothing else is.

`check_random_messages` starts a server and sends it messages nobody would send: any JSON as params, unusual ids, ids in
flight twice, replies to nothing, half-right messages, bytes that are no JSON, each in a right frame and cut anywhere.
It knows for each message how many answers are due and with which id, and compares. The same seed gives the same
messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.lsp.rawlsp import RawClient, started
from tests.waiting import WAIT_S

BATCH = 250
"""Messages between two looks at the answers."""
KEYS = (
    "jsonrpc id method params result error value text token kind type uri textDocument position line character range "
    "context conversationId requestId maxTokens turnId model folder command arguments type_name class capabilities"
).split()
TEXTS = (
    "",
    "x",
    "2.0",
    "a\u0000b",
    "é",
    "\U0001f389",
    "\ud800",
    "\udc00\ud800",
    "../../etc/passwd",
    "file:///nowhere/x.py",
    "__init__",
)


class RandomMessages:
    """Messages with the answers that are due for them."""

    def __init__(self, methods: Sequence[str], notifications: Sequence[str], seed: int) -> None:
        self.random = random.Random(seed)
        self._methods = list(methods)
        self._notifications = list(notifications)
        self._count = 0
        self._recent: list[int | str] = []

    def next(self) -> tuple[bytes, list[str]]:
        """A body, and the ids (as JSON) that answers to it must carry."""
        make = self.random.choices(
            (
                self._request,
                self._notification,
                self._cancel,
                self._reply,
                self._wrong_id,
                self._half_right,
                self._no_object,
                self._no_json,
            ),
            (55, 15, 5, 8, 5, 5, 4, 3),
        )[0]
        body, due = make()
        return (body if isinstance(body, bytes) else self._dump(body)), due

    # ------------------------------------------------------------------------------------------------------- messages

    def _request(self) -> tuple[Any, list[str]]:
        message_id = self._id()
        self._recent = [*self._recent[-5:], message_id]
        message = {"jsonrpc": "2.0", "id": message_id, "method": self._name(self._methods)}
        return self._shuffled(message | self._params()), [json.dumps(message_id)]

    def _notification(self) -> tuple[Any, list[str]]:
        name = self._name(self._notifications + self._methods if self.random.random() < 0.2 else self._notifications)
        return self._shuffled({"jsonrpc": "2.0", "method": name} | self._params()), []

    def _cancel(self) -> tuple[Any, list[str]]:
        """Cancels a request that may still run; it is answered once all the same."""
        message_id = self.random.choice(self._recent or [0])
        return {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": message_id}}, []

    def _reply(self) -> tuple[Any, list[str]]:
        """To a request the server never made: its ids are numbers, and this one is none of them."""
        key = self.random.choice(("result", "error"))
        reply_id: Any = self.random.choice(("nobody's", -1, None, {}, [], 1.5, True))
        return self._shuffled({"jsonrpc": "2.0", "id": reply_id, key: self._json(3)}), []

    def _wrong_id(self) -> tuple[Any, list[str]]:
        wrong = self.random.choice((None, True, False, 1.5, 0.0, -2.0, {}, {"a": 1}, [], [1]))
        message = {"jsonrpc": "2.0", "id": wrong, "method": self._name(self._methods)}
        return self._shuffled(message | self._params()), ["null"]

    def _half_right(self) -> tuple[Any, list[str]]:
        """A message that lacks what makes it one. With a usable id the error carries it."""
        message: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": self._id(),
            "method": self._name(self._methods),
        } | self._params()
        due = [json.dumps(message["id"])]
        match self.random.randrange(5):
            case 0:
                message["jsonrpc"] = self.random.choice(("1.0", 2.0, None, 2, {}, "2"))
            case 1:
                del message["jsonrpc"]
            case 2:
                message["method"] = self.random.choice((None, 5, {}, [], True))
            case 3:
                del message["method"]
            case _:
                del message["id"]
                message["method"] = self.random.choice((None, 5, {}, []))
                due = ["null"]
        return self._shuffled(message), due

    def _no_object(self) -> tuple[Any, list[str]]:
        whole: Any = self.random.choice((None, True, 0, -1.5, "x", [], [1, 2]))
        return ([self._request()[0]] if whole == [1, 2] else whole), ["null"]

    def _no_json(self) -> tuple[Any, list[str]]:
        body = self._dump(self._request()[0])
        cut = self.random.randrange(len(body))
        broken = self.random.choice(
            (b"", body[:cut], body + b"}", b"\xff" + body, b"\xef\xbb\xbf" + body, b"[" * 50_000)
        )
        return broken, ["null"]

    # --------------------------------------------------------------------------------------------------------- values

    def _id(self) -> int | str:
        """Mostly new, sometimes one that was used just now and may still be in flight."""
        self._count += 1
        count = self._count - self.random.choice((0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
        match count % 8:
            case 0:
                return -count
            case 1:
                return 2**31 + count
            case 2:
                return 2**70 + count
            case 3:
                return str(count)
            case 4:
                return f"\ud800{count}"
            case 5:
                return f"é\U0001f389 {count}\n"
            case 6:
                return "x" * 1000 + str(count)
        return count

    def _name(self, names: Sequence[str]) -> str:
        if self.random.random() < 0.9:
            return self.random.choice(names)
        return self.random.choice(("", "no/such", "$/no/such", "\ud800", "x" * 10_000, "__init__", "exit\u0000"))

    def _params(self) -> dict[str, Any]:
        return {} if self.random.random() < 0.1 else {"params": self._json(4)}

    def _json(self, depth: int) -> Any:
        chance = self.random.random()
        if depth == 0 or chance < 0.35:
            scalars = (
                None,
                True,
                False,
                0,
                -1,
                2**53,
                2**70,
                1.5,
                1e300,
                self.random.choice(TEXTS),
                self.random.random(),
            )
            return self.random.choice(scalars)
        if chance < 0.36:
            nested: Any = []
            for _ in range(self.random.choice((10, 300))):
                nested = [nested] if self.random.random() < 0.5 else {"value": nested}
            return nested
        if chance < 0.55:
            return [self._json(depth - 1) for _ in range(self.random.randrange(4))]
        if chance < 0.62:
            return self._request()[0]
        keys = [self.random.choice(KEYS) for _ in range(self.random.randrange(6))]
        return {key: self._json(depth - 1) for key in keys}

    def _shuffled(self, message: dict[str, Any]) -> dict[str, Any]:
        items = list(message.items())
        self.random.shuffle(items)
        return dict(items)

    def _dump(self, value: Any) -> bytes:
        """With escapes or as UTF-8, dense or with blanks."""
        dense, ascii_only = self.random.random() < 0.5, self.random.random() < 0.5
        text = json.dumps(value, ensure_ascii=ascii_only, separators=(",", ":") if dense else None)
        try:
            return text.encode()
        except UnicodeEncodeError:  # a lone surrogate has no UTF-8 form
            return json.dumps(value).encode()


async def check_random_messages(
    command: Sequence[str], methods: Sequence[str], notifications: Sequence[str], n_messages: int, seed: int
) -> None:
    """Send `n_messages` random messages to a fresh server; AssertionError names the seed and what was wrong.

    `methods` and `notifications` are what is worth hitting; `shutdown` and `exit` must not be among them.
    """
    made = RandomMessages(methods, notifications, seed)
    async with started(command) as client:
        await client.initialize()
        try:
            for start in range(0, n_messages, BATCH):
                await _check_batch(client, made, min(BATCH, n_messages - start))
        except (AssertionError, EOFError) as error:
            raise AssertionError(f"seed {seed}: {error}\n{client.stderr.decode()[-2000:]}") from error
        client.notify("exit")
        assert await client.exit_code() == 1, f"seed {seed}"


async def _check_batch(client: RawClient, made: RandomMessages, n_messages: int) -> None:
    client.inbox.clear()
    due: Counter[str] = Counter()
    sent: dict[str, bytes] = {}
    stream = bytearray()
    for _ in range(n_messages):
        body, ids = made.next()
        due.update(ids)
        sent |= {message_id: body for message_id in ids}
        stream += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    asked: list[dict[str, Any]] = []
    client.silent_for = asked.append  # a reply must not land inside a frame that is still on its way
    while stream:
        size = made.random.choice((1, 7, 100, 5_000, 100_000))
        client.send_bytes(bytes(stream[:size]))
        del stream[:size]
        await asyncio.sleep(0)
    client.silent_for = None
    for message in asked:
        client.reply(message)
    await _prove_alive(client, f"alive {made.random.random()}")
    with contextlib.suppress(TimeoutError):  # what runs on is answered too, sooner or later
        async with asyncio.timeout(WAIT_S):
            while _answered(client).total() < due.total():
                await client.more()
    await _prove_alive(client, "alive at the end")  # nothing came that was not due
    answered = _answered(client)
    wrong = {message_id: sent.get(message_id, b"")[:300] for message_id in (due - answered) + (answered - due)}
    assert answered == due, f"answers missing or too many, by id with the last message that had it: {wrong}"
    for message in client.inbox:
        text = json.dumps(message)
        assert "Traceback" not in text, text
        assert ('"result"' in text) or ('"error"' in text) or "method" in message, text


async def _prove_alive(client: RawClient, message_id: str) -> None:
    await client.start_request("no/such", message_id=message_id).answer()


def _answered(client: RawClient) -> Counter[str]:
    ids = (message["id"] for message in client.inbox if "method" not in message)
    return Counter(json.dumps(answer_id) for answer_id in ids if not str(answer_id).startswith("alive"))
