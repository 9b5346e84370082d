"""Bytes beside the messages, such as pictures: each is kept once, under the SHA-256 of its bytes.

Whoever uses a content has a table of its own that names it, with an index by digest and a foreign key, and stands in
`REFERRING`. It writes the reference in the transaction that keeps the content, and when it removes references, it
calls `forget` in the same transaction; so no content is without a user, and a crash leaves nothing to tidy up.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Final

from palimpsest.domain.messages import Content, Digest, StepId
from palimpsest.storage.sql import execute

REFERRING: Final = (
    ("message_content", "digest"),
    ("step_content", "digest"),
    ("file_change", "before"),
    ("file_change", "after"),
)
"""The columns that name contents."""


def digest_of(data: bytes) -> Digest:
    """The digest under which these bytes are kept."""
    return Digest(hashlib.sha256(data).hexdigest())


def keep(data: bytes) -> Digest:
    """Stores the bytes, unless they are known, and returns their digest. The caller writes its reference to them."""
    digest = digest_of(data)
    execute("INSERT OR IGNORE INTO content (digest, bytes) VALUES (?, ?)", digest, data)
    return digest


def refer_message(row_id: int, content: Content) -> None:
    """The message of the row refers to its pictures, as far as their bytes are here: of what a colleague shared, only
    their digests are."""
    for digest in {image.digest for image in content.images}:
        execute(
            "INSERT OR IGNORE INTO message_content (message, digest) SELECT ?, digest FROM content WHERE digest = ?",
            *(row_id, digest),
        )


def keep_for_step(step_id: StepId, contents: Iterable[bytes]) -> None:
    """Stores what the journal of the step names, until the step ends."""
    for data in contents:
        execute("INSERT OR IGNORE INTO step_content (step, digest) VALUES (?, ?)", step_id, keep(data))


def forget_message(row_id: int) -> None:
    """The message of the row refers to nothing any more."""
    found = execute("SELECT digest FROM message_content WHERE message = ?", row_id).fetchall()
    if found:
        execute("DELETE FROM message_content WHERE message = ?", row_id)
        forget(digest for (digest,) in found)


def read(digest: Digest) -> bytes | None:
    """The bytes; None when the store does not have them, or has others under this digest."""
    row = execute("SELECT bytes FROM content WHERE digest = ?", digest).fetchone()
    return None if row is None or not isinstance(row[0], bytes) or digest_of(row[0]) != digest else row[0]


def forget(digests: Iterable[Digest]) -> None:
    """Removes those of the contents to which nothing refers any more."""
    execute(
        f"DELETE FROM content WHERE digest IN (SELECT value FROM json_each(?)) AND NOT ({_IS_USED})",
        json.dumps(sorted(set(digests))),
    )


def end_step(step_id: StepId) -> None:
    """Removes the references of a step that has ended: its messages have their own."""
    found = execute("SELECT digest FROM step_content WHERE step = ?", step_id).fetchall()
    if found:
        execute("DELETE FROM step_content WHERE step = ?", step_id)
        forget(digest for (digest,) in found)


def size(table: str) -> int:
    """The bytes of all contents to which this table of `REFERRING` refers."""
    (column,) = (column for name, column in REFERRING if name == table)
    ((n_bytes,),) = execute(
        f"SELECT COALESCE(SUM(LENGTH(bytes)), 0) FROM content WHERE digest IN (SELECT {column} FROM {table})"
    )
    return int(n_bytes)


def faults() -> list[str]:
    """The contents that are not what their digests say, as clauses."""
    digests = execute("SELECT digest FROM content ORDER BY digest").fetchall()
    return [f"the content {digest[:12]} is not what its digest says" for (digest,) in digests if read(digest) is None]


_IS_USED: Final = " OR ".join(
    f"EXISTS (SELECT 1 FROM {table} WHERE {table}.{column} = content.digest)" for table, column in REFERRING
)

UNUSED: Final = f"FROM content WHERE NOT ({_IS_USED})"
"""The contents to which nothing refers, as the end of a statement."""
