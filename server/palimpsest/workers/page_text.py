"""Takes the text out of a page of the web, as a process of its own: the page is a stranger's, and may be made to take
for ever or all memory.

It is run as a script, isolated. Input: the page in UTF-8. Output: its text in UTF-8, empty where it has none: the
main part as Markdown; with the argument `all`, which takes far less time for a long page, all of it and plain. It ends
with `NOT_INSTALLED` without the package that does it, which is an extra.
"""

from __future__ import annotations

import sys

NOT_INSTALLED = 3
MAX_MEMORY_BYTES = 1024 * 1024 * 1024
MAX_CPU_S = 30
"""Ends this process even when the one that started it died."""


def main(*, is_all: bool) -> int:
    _limit_resources()
    try:
        import trafilatura
    except ImportError:
        return NOT_INSTALLED
    page = sys.stdin.buffer.read().decode("utf-8", "replace")
    text = None
    if not is_all:  # rather too much than too little: what is missing cannot be asked for
        text = trafilatura.extract(page, output_format="markdown", include_comments=False, favor_recall=True)
    if not text:  # of what is in no body it reads nothing
        text = trafilatura.html2txt(page if "<body" in page.lower() else f"<html><body>{page}</body></html>")
    sys.stdout.buffer.write((text or "").encode("utf-8", "replace"))
    return 0


def _limit_resources() -> None:
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
