"""The reference of the journal benchmark: a pygls server that passes a model's stream on, and keeps nothing."""

from __future__ import annotations

import json
from typing import Any

import httpx
from httpx_sse import EventSource
from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

server = LanguageServer("relay", "0")


@server.feature("relay/chat")
async def chat(ls: LanguageServer, params: Any) -> dict[str, int]:
    seq = 0
    async with httpx.AsyncClient(timeout=60) as client:
        request = {"model": "m", "stream": True, "messages": [{"role": "user", "content": params.text}]}
        async with client.stream("POST", f"{params.url}/v1/chat/completions", json=request) as response:
            async for event in EventSource(response).aiter_sse():
                if event.data == "[DONE]":
                    break
                choices = json.loads(event.data)["choices"]
                if choices and (text := choices[0]["delta"].get("content")):
                    seq += 1
                    value = {"seq": seq, "type": "text", "text": text}
                    ls.progress(lsp.ProgressParams(params.token, value))
    return {"seq": seq}


if __name__ == "__main__":
    server.start_io()
