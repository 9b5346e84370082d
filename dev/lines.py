"""How many lines of Python the server, the clients and the hub have, by room, at one commit and at another.

    python -m dev.lines COMMIT [COMMIT]

The second commit is HEAD by default. A room is a folder of a layer; the row of a layer counts all of its rooms and the
files beside them. All lines count, empty ones and comments too.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence

from dev.revisions import files_at

_FOLDERS = ("server", "clients", "hub")


def lines_by_room(commit: str) -> Counter[str]:
    """Lines of each room, such as `palimpsest/services/turns`, and of each layer, such as `palimpsest/services`."""
    lines: Counter[str] = Counter()
    for path, text in files_at(commit, _FOLDERS).items():
        for place in places_of(path):
            lines[place] += len(text.splitlines())
    return lines


def places_of(path: str) -> list[str]:
    """The package, the layer and the room in which a file lies, as far as there are any: for
    `server/palimpsest/services/turns/run.py` they are `palimpsest`, `palimpsest/services` and
    `palimpsest/services/turns`."""
    _, package, *folders, _ = path.split("/")
    within = [package, *folders[:2]]
    return ["/".join(within[: n + 1]) for n in range(len(within))]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m dev.lines", description=__doc__.partition("\n")[0])
    parser.add_argument("before", help="a commit")
    parser.add_argument("after", nargs="?", default="HEAD", help="a commit; HEAD by default")
    args = parser.parse_args(arguments)
    before, after = lines_by_room(args.before), lines_by_room(args.after)
    print(f"{'lines of Python in':36} {args.before:>9} {args.after:>9}")
    for place in sorted({*before, *after}):
        depth = place.count("/")
        name = "  " * depth + place.rpartition("/")[2]
        print(f"{name:36} {before[place] or '-':>9} {after[place] or '-':>9}")


if __name__ == "__main__":
    main()
