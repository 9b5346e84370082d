"""Which conversation somebody means who writes what a list showed: its number, its id or title, or how these begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

SHOWN_OF_ID: Final = 8
"""Characters of an id that lists show."""
_LEAST_OF_ID: Final = 4
_MOST_DIGITS: Final = 6
"""More of them are no number in a list."""


def picked(written: str, choices: Sequence[tuple[str, str]]) -> list[int]:
    """The places in `choices`, each an id and a title, that `written` may mean; one, several or none.

    A whole id counts before a number, counted from 1; then the beginning of an id, a whole title and the beginning of
    one. Case does not count.
    """
    wanted = " ".join(written.split()).casefold()
    if not wanted:
        return []
    ids = [choice[0].casefold() for choice in choices]
    titles = [" ".join(choice[1].split()).casefold() for choice in choices]
    if wanted in ids:
        return [ids.index(wanted)]
    if wanted.isascii() and wanted.isdigit() and len(wanted) <= _MOST_DIGITS and 1 <= int(wanted) <= len(choices):
        return [int(wanted) - 1]
    tries = (
        [place for place, each in enumerate(ids) if len(wanted) >= _LEAST_OF_ID and each.startswith(wanted)],
        [place for place, each in enumerate(titles) if each == wanted],
        [place for place, each in enumerate(titles) if each.startswith(wanted)],
    )
    return next((found for found in tries if found), [])
