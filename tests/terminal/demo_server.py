"""A scripted server whose scenes are shown to people. With `--chat FOLDER`, a chat that is answered by it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.terminal import approving_server, scripted_server

TOUR = """\
## Where the tax rate is kept

In **one** place: `RATE` in `src/shop/prices.py:3`. Only `gross` reads it, so a change there is enough:

```python
RATE = 0.19  # cents are rounded once, at the end


def gross(net: int, *, rate: float = RATE) -> int:
    \"\"\"The net price with tax, in cents.\"\"\"
    return round(net * (1 + rate))
```

| Country | Rate | Kept in |
| :-- | --: | :-- |
| Germany | 19 % | `prices.py`, as the default of `gross` |
| Österreich 🇦🇹 | 20 % | a row of the table `rates`, which is read at the start of the shop and never again |
| 日本 | 10 % | nowhere yet |

1. Move `RATE` into the table `rates`.
2. Read it when a price is asked for:
   - [x] the test of it is there
   - [ ] the cache is not

> Only one of them is read today.
"""
DIFF = """\
--- a/src/shop/prices.py
+++ b/src/shop/prices.py
@@ -1,7 +1,7 @@
 \"\"\"Prices, in cents.\"\"\"

-RATE = 0.19
+RATES = {"DE": 0.19, "AT": 0.20, "JP": 0.10}


-def gross(net: int) -> int:
-    return round(net * (1 + RATE))
+def gross(net: int, country: str = "DE") -> int:
+    return round(net * (1 + RATES[country]))
"""
CHANGES = """\
| No. | File | Lines | When | State |
| --- | --- | --- | --- | --- |
| 1 | src/shop/prices.py | +3 -2 | 2026-11-21 10:00 UTC | applied |

`/changes N` shows an edit. `/revert` takes back those of the last turn that made some, `/revert N` one, \
`/revert PATH` those of a file, and `/revert all` all of this conversation.
"""
TITLES = (
    "Move the tax rates into a table, one row for each country and day",
    "Why is the build slow?",
    "日本語のテスト",
)


class DemoServer(approving_server.ApprovingServer):
    def conversation(self, number: int) -> scripted_server.Json:
        title = TITLES[(number - 1) % len(TITLES)]
        return {**super().conversation(number), "title": title, "model": "claude-opus-4-5"}

    def end_turn(
        self, request: scripted_server.Json, conversation: str, status: str = "committed", stop: str = "end"
    ) -> None:
        usage = {**scripted_server.USAGE, "model": "claude-opus-4-5", "compact": "41.2k / 200k (21%)"}
        self.reply(request, {"conversationId": conversation, "turnId": f"turn-{self.turns}", "status": status,
                             "messageIds": [0, 1], "usage": usage, "stopReason": stop})  # fmt: skip

    def scene_tour(self, request: scripted_server.Json, params: scripted_server.Json, conversation: str) -> None:
        token = params["partialResultToken"]
        self.delta(token, type="thinking", text="The rate must be read somewhere. I look for it.")
        self.call(token, "search", '{"pattern": "RATE"}', "src/shop/prices.py:3\n")
        self.call(token, "read_file", '{"path": "src/shop/prices.py"}', "1\n2\n3\n4\n5\n6\n7\n")
        self.delta(token, type="text", text=TOUR)
        self.end_turn(request, conversation)

    def call(self, token: str, name: str, arguments: str, result: str) -> None:
        self.delta(token, type="toolCall", callId=name, name=name)
        self.delta(token, type="toolArguments", callId=name, text=arguments)
        self.delta(token, type="toolStart", callId=name, name=name)
        self.delta(token, type="toolResult", callId=name, name=name, text=result)

    def scene_change(self, request: scripted_server.Json, params: scripted_server.Json, conversation: str) -> None:
        token, call = params["partialResultToken"], {"callId": "a", "name": "propose_edit"}
        self.delta(token, type="text", text="I move the rates into a table.")
        self.delta(token, type="toolCall", **call)
        self.delta(token, type="toolArguments", callId="a", text='{"path": "src/shop/prices.py"}')
        self.delta(token, type="done")
        self.delta(token, type="toolStart", **call)
        self.ask(params, conversation, tool="propose_edit", title="Change src/shop/prices.py?", shown=DIFF,
                 covers="edits of src/shop/prices.py")  # fmt: skip
        self.await_message(lambda message: message.get("id") == "ask")
        self.delta(token, type="toolResult", text="Applied and saved: src/shop/prices.py.", **call)
        self.delta(token, type="text", text="The rates are in one table now.")
        self.delta(token, type="done")
        self.end_turn(request, conversation)

    def on_command_run(self, request: scripted_server.Json, params: scripted_server.Json) -> None:
        if params["text"] != "/changes":
            super().on_command_run(request, params)
            return
        self.reply(request, {"text": CHANGES})

    def scene_overloaded(self, request: scripted_server.Json, params: scripted_server.Json, conversation: str) -> None:
        self.delta(params["partialResultToken"], type="text", text="The rate is kept in")
        self.fail(
            request, -32803, "The service is overloaded. Try again later, or choose another model by /model.", "x"
        )

    def scene_long(self, request: scripted_server.Json, params: scripted_server.Json, conversation: str) -> None:
        lines = "".join(f"line_{number} = {'x' * (number * 4)}\n" for number in range(60))
        self.delta(params["partialResultToken"], type="text", text=f"```python\n{lines}```\n\nThe end.")
        self.end_turn(request, conversation)


def main() -> None:
    if sys.argv[1] != "--chat":
        scripted_server.Server = DemoServer  # type: ignore[misc]  # what its main starts
        scripted_server.main()
        return
    from palimpsest.terminal.chat import Wish, run

    folder = Path(sys.argv[2])
    server = [sys.executable, "-P", __file__, os.devnull, *sys.argv[3:]]
    sys.exit(run(Wish(folder, begins_new=True), server, lambda folder: True))


if __name__ == "__main__":
    main()
