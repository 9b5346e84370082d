"""A librarian without a model, for the folder and the store of a test."""

from __future__ import annotations

from pathlib import Path

from tests.services.scripted import Bench

from palimpsest.services.background import Background
from palimpsest.services.context.rule_commands import RuleCommands
from palimpsest.services.facts.keeper import FactKeeper
from palimpsest.services.facts.librarian import Librarian
from palimpsest.services.facts.model import LibrarianModel
from palimpsest.services.facts.places import FactPlaces
from palimpsest.services.workspace.files import WorkspaceFiles

RULE = "Never use tabs in the Makefile of this project."
CODE = "def area(r):\n    return 3.14 * r * r\n\n\ndef twice(x):\n    return 2 * x\n"


def librarian_of(b: Bench, folder: Path) -> Librarian:
    async def choose(_: object) -> None:
        return None

    places, model = FactPlaces(b.store, WorkspaceFiles(folder)), LibrarianModel(b.store, choose, 0)
    keeper = FactKeeper(b.store, places, model, RuleCommands(b.session.contexts).rules)
    return Librarian(keeper, folder.as_posix(), Background())
