"""What LangChain's summarizing middleware would send: a reference of `benchmarks.price`, in an environment of its own.

Reads JSON from stdin, `{"budget": tokens, "requests": [[[role, text], ...], ...]}`, the messages that are new before
each request. Writes for each request `{"sent": [text, ...], "asked": characters that the summarizing model read}`. The
summaries are as long as a model's usually are; what they say does not matter here.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage

_SUMMARY = "The user and the assistant worked on the parser and its tests. " * 40
_TRIGGER_SHARE = 0.8
"""Of the budget: when the middleware begins to summarize, as in its guide (November 2026)."""


class Counted(FakeListChatModel):
    """Says the same summary each time, and counts what it reads."""

    n_read: int = 0

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        self.n_read += sum(len(str(each.content)) for each in messages)
        return str(super()._call(messages, *args, **kwargs))


def main() -> None:
    given = json.load(sys.stdin)
    model = Counted(responses=[_SUMMARY])
    trigger = ("tokens", int(given["budget"] * _TRIGGER_SHARE))
    middleware = SummarizationMiddleware(model, trigger=trigger, keep=("messages", 20))
    messages: list[BaseMessage] = []
    found = []
    for new in given["requests"]:
        messages += [HumanMessage(text) if role == "user" else AIMessage(text) for role, text in new]
        before = model.n_read
        update = middleware.before_model({"messages": messages}, None)
        if update is not None:
            messages = [each for each in update["messages"] if not isinstance(each, RemoveMessage)]
        found.append({"sent": [str(each.content) for each in messages], "asked": model.n_read - before})
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
