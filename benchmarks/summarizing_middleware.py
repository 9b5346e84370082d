"""What LangChain's summarizing middleware would send: a reference of `benchmarks.price`, in an environment of its own.

Reads JSON from stdin, `{"trigger": tokens, "keep": ["messages" or "tokens", number], "most_read": tokens or null,
"said": [[[role, text], ...], ...]}`: when it begins to summarize, what it keeps, how much of the rest its model reads,
and the messages that are new before each request. Writes for each request `{"sent": [text, ...], "read": [text, ...],
"wrote": [text, ...]}`, the last two of the summarizing model. Tokens are those of cl100k, whose vocabulary is in
`TIKTOKEN_CACHE_DIR`. The summaries are as long as a model's usually are; what they say does not matter here.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterable
from typing import Any

import tiktoken
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage

_SUMMARY = "The user and the assistant worked on the parser and its tests. " * 40
_MESSAGE_OVERHEAD = 4
"""Tokens of a message beside its text, as we count."""


class Told(FakeListChatModel):
    """Says the same summary each time, and remembers what it read."""

    read: list[str] = []  # noqa: RUF012  # pydantic copies it

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        self.read += [str(each.content) for each in messages]
        return str(super()._call(messages, *args, **kwargs))


def main() -> None:
    given = json.load(sys.stdin)
    encoding = tiktoken.get_encoding("cl100k_base")

    @functools.cache
    def of_text(text: str) -> int:
        return len(encoding.encode_ordinary(text)) + _MESSAGE_OVERHEAD

    def count(messages: Iterable[Any]) -> int:
        return sum(of_text(str(each.content)) for each in messages)

    model = Told(responses=[_SUMMARY])
    middleware = SummarizationMiddleware(
        model,
        trigger=("tokens", given["trigger"]),
        keep=tuple(given["keep"]),
        token_counter=count,
        trim_tokens_to_summarize=given["most_read"],
    )
    messages: list[BaseMessage] = []
    found = []
    for new in given["said"]:
        messages += [HumanMessage(text) if role == "user" else AIMessage(text) for role, text in new]
        model.read.clear()
        update = middleware.before_model({"messages": messages}, None)
        if update is not None:
            messages = [each for each in update["messages"] if not isinstance(each, RemoveMessage)]
        sent = [str(each.content) for each in messages]
        found.append({"sent": sent, "read": model.read[:], "wrote": [_SUMMARY] * len(model.read)})
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
