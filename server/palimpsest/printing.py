"""What commands print: the only way from our code to a terminal.

Names of folders, models and files, facts and errors may hold anything. A terminal obeys control characters, and
bidirectional controls make a text read as another one: whatever is not a printable character, a newline or a tab is
shown as an escape that can be read. JSON keeps every value exactly; there the escapes are JSON's own.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any, Final

_UNSAFE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 and C1 controls, ESC among them
    "\u2028\u2029\u202a-\u202e\u2066-\u2069\ufff9-\ufffb"  # separators, bidirectional controls, annotations
    "\ud800-\udfff]"  # half a character: it cannot be encoded
)


def sanitise(text: str) -> str:
    """The text as it may reach a terminal: newlines and tabs stay, CR is dropped, other controls become escapes."""
    return _UNSAFE.sub(_escape, text.replace("\r", ""))


def say(*lines: str) -> None:
    """Each on stdout, as it may reach a terminal."""
    sys.stdout.write("".join(f"{sanitise(line)}\n" for line in lines))


def complain(sentence: str) -> None:
    """A sentence on stderr, as it may reach a terminal."""
    sys.stderr.write(f"palimpsest: {sanitise(sentence)}\n")


def say_json(value: Any, indent: int | None = None) -> None:
    """A value on stdout, exactly. Raises what `json.dumps` raises."""
    sys.stdout.write(harmless_json(json.dumps(value, ensure_ascii=False, indent=indent)) + "\n")


def harmless_json(text: str) -> str:
    """JSON, or lines of it, that means the same and may reach a terminal."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
