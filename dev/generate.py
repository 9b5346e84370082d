"""Write every generated file of the repository: `python -m dev.generate [--check]`.

With `--check` nothing is written: the exit code is 1 when a file differs from what would be written.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from dev import (
    ROOT,
    generate_commands,
    generate_completion,
    generate_greeting,
    generate_manual,
    generate_protocol,
    generate_providers,
    generate_settings,
    generate_version,
)
from dev.metamodel import DeclarationError


def outputs() -> dict[str, str]:
    """The text of every generated file, by its path below the repository's root."""
    made = (
        generate_greeting,
        generate_protocol,
        generate_settings,
        generate_commands,
        generate_completion,
        generate_manual,
        generate_providers,
        generate_version,
    )
    return {name: text for each in made for name, text in each.outputs().items()}


def stale(wanted: Mapping[str, str], root: Path = ROOT) -> list[str]:
    """The paths of the files that are missing or hold another text."""
    return [name for name, text in wanted.items() if _read(root / name) != text]


def _read(path: Path) -> str | None:
    return path.read_text("utf-8") if path.is_file() else None


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Run the command; return its exit code."""
    if arguments not in ([], ["--check"]):
        print("Usage: python -m dev.generate [--check]", file=sys.stderr)
        return 2
    try:
        wanted = outputs()
    except (DeclarationError, TypeError) as error:
        print(error, file=sys.stderr)
        return 1
    old = stale(wanted, root)
    for name in old:
        if arguments:
            print(f"{name} is not up to date: run `make generate`.")
            continue
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(wanted[name], "utf-8")
        print(f"{name} written")
    return 1 if arguments and old else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
