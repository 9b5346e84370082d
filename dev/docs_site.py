"""The source of the site, and what is checked of its pages: `python dev/docs_site.py FOLDER` puts it together.

The source is README.md, the pages and the style of docs/, and what they link to, and so on, each at its place in the
repository: a link that works in the repository works on the site. A link to a folder leads to its README.md, or to a
list of its pages, which is written here. docs/mkdocs.yml names this file as a hook, too. It needs nothing but the
standard library, because the environment that builds the site has no other part of the checkout.
"""

from __future__ import annotations

import re
import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
_LINK: Final = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
_CODE_IN_TABLE: Final = re.compile(r"(?<=[| ])`[^`\n]*\\\|[^`\n]*`(?= \|| )")
"""Where GitHub wants a bar behind a backslash, MkDocs shows the backslash."""
_TITLE: Final = re.compile(r"^# (.+)", re.MULTILINE)
_ELSEWHERE: Final = re.compile(
    r"<(?:script|img|source|iframe|link\s+rel=\"?stylesheet\"?)\b[^>]*?(?:src|href)=\"?(?:https?:)?//[^\s\">]+"
)


def gather(target: Path) -> None:
    """Write the source into `target`, a folder that is made anew. Raises FileNotFoundError for a link to nothing."""
    shutil.rmtree(target, ignore_errors=True)
    waiting = [ROOT / "README.md", ROOT / "docs/site.css", *sorted(ROOT.glob("docs/**/*.md"))]
    done: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in done:
            continue
        done.add(path)
        place = target / path.relative_to(ROOT)
        if path.is_dir():
            place /= "README.md"
            text = _list_of_pages(path)
            linked = sorted(path.glob("*.md"))
        elif path.suffix == ".md":
            text, linked = _page(path)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        waiting += linked


def _page(path: Path) -> tuple[str, list[Path]]:
    """A page whose links to folders lead to a page, and the files of the repository that it links to."""
    linked: list[Path] = []

    def follow(link: re.Match[str]) -> str:
        found = (path.parent / link[1]).resolve()
        if not found.exists():
            raise FileNotFoundError(f"{path.relative_to(ROOT)} links to {link[1]}, which is not there.")
        if not found.is_relative_to(ROOT):
            raise FileNotFoundError(f"{path.relative_to(ROOT)} links to {link[1]}, which is outside of the repository.")
        is_folder = found.is_dir()
        readme = found / "README.md"
        linked.append(readme if is_folder and readme.exists() else found)
        return link[1].rstrip("/") + "/README.md" if is_folder else link[1]

    text = _LINK.sub(follow, path.read_text(encoding="utf-8"))
    return _CODE_IN_TABLE.sub(lambda row: row[0].replace(r"\|", "|"), text), linked


def _list_of_pages(folder: Path) -> str:
    pages = {path.name: _TITLE.search(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.md"))}
    lines = [f"- [{title[1] if title else name}]({name})" for name, title in pages.items()]
    return "\n".join([f"# {folder.name.capitalize()}", "", *lines, ""])


def on_post_page(output: str, **unused: Any) -> str:
    """What MkDocs calls for each page. Raises ValueError for a page that would fetch something from elsewhere."""
    if found := _ELSEWHERE.search(output):
        raise ValueError(f"A page would fetch something from elsewhere: {found[0]}")
    return output


def on_post_build(config: Any, **unused: Any) -> None:
    """What MkDocs calls in the end: the site gets our license, and those of the theme and icons in its pages. Raises
    FileNotFoundError when the theme's package has none."""
    site, theme = Path(config["site_dir"]), distribution("mkdocs-material")
    shutil.copyfile(ROOT / "LICENSE", site / "LICENSE.txt")
    (own,) = [each for each in theme.files or () if each.name == "LICENSE" and "licenses" in each.parts]
    parts = {"Material for MkDocs": str(own), "Material Design icons": "material/templates/.icons/material/LICENSE"}
    texts = [
        f"{name}\n\n{Path(str(theme.locate_file(path))).read_text(encoding='utf-8')}" for name, path in parts.items()
    ]
    (site / "THIRD-PARTY.txt").write_text(f"\n{'=' * 80}\n\n".join(texts), encoding="utf-8")


if __name__ == "__main__":
    gather(Path(sys.argv[1]).resolve())
