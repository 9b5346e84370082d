"""Takes the text out of a page of the web, as a process of its own: the page is a stranger's, and may be made to take
for ever or all memory.

It is run as a script, isolated. Input: the page in UTF-8. Output: its text in UTF-8, empty where it has none: the
main part as Markdown; with the argument `all`, which takes far less time for a long page, all of it and plain. It ends
with `NOT_INSTALLED` without the package that does it, which is an extra.
"""

from __future__ import annotations

import ctypes
import signal
import sys
from typing import Any

NOT_INSTALLED = 3
MAX_MEMORY_BYTES = 1024 * 1024 * 1024
MAX_CPU_S = 15
"""Ends this process even when the one that started it died; on Linux it ends with that one."""
MAX_TEXT_BYTES = 16 * 1024 * 1024
"""The most bytes of text that are given back: more than anybody takes, and no burden to whoever reads them."""
_PR_SET_PDEATHSIG = 1


def main(*, is_all: bool) -> int:
    _limit_resources()
    try:
        import trafilatura
        from lxml import etree, html
    except ImportError:
        return NOT_INSTALLED
    page = sys.stdin.buffer.read()

    def parse() -> Any:  # trafilatura takes a page without its outer tags for none
        parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
        return html.document_fromstring(page, parser=parser)

    text = None
    try:
        if not is_all:  # rather too much than too little: what is missing cannot be asked for
            text = trafilatura.extract(parse(), output_format="markdown", include_comments=False, favor_recall=True)
        text = text or trafilatura.html2txt(parse())
    except etree.ParserError:  # there is no element in it
        text = text or ""
    sys.stdout.buffer.write(text.encode("utf-8", "replace")[:MAX_TEXT_BYTES])
    return 0


def _limit_resources() -> None:
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    try:
        import resource
    except ImportError:  # Windows: the time limit of whoever waits is all there is
        return
    for what, limit in ((resource.RLIMIT_AS, MAX_MEMORY_BYTES), (resource.RLIMIT_CPU, MAX_CPU_S)):
        try:
            resource.setrlimit(what, (limit, limit))
        except (ValueError, OSError):  # macOS has no RLIMIT_AS that holds
            continue


if __name__ == "__main__":
    sys.exit(main(is_all="all" in sys.argv[1:]))
