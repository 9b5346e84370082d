"""The command about what models cost."""

from __future__ import annotations

from palimpsest.data import load_price_table
from palimpsest.services.chat.commands.markdown import plain, table
from palimpsest.services.chat.commands.scope import Reply, Scope
from palimpsest.services.costs import Costs, Line
from palimpsest.wording import counted


async def cost(scope: Scope, _: str) -> Reply:
    found = await scope.session.spending.report(scope.open_conversation, None)
    spans = (("This conversation", found.conversation), ("Today", found.today), ("This month", found.month))
    rows = [(name, dollars(each), f"{each.n_calls:,}") for name, each in spans if each is not None]
    everywhere = f"All your folders this month: ${found.everywhere_dollars:,.2f}"
    if found.budget_dollars:
        everywhere += f" of a budget of ${found.budget_dollars:,.2f}"
    shown = found.month if found.conversation is None else found.conversation
    parts = [
        table(("In this folder", "Cost", "Calls"), rows),
        f"{everywhere}.",
        _lines("this month" if found.conversation is None else "this conversation", shown),
        _notes(shown),
    ]
    return Reply("\n\n".join(part for part in parts if part))


def _lines(what: str, found: Costs) -> str:
    if not found.lines:
        return f"No model was asked in {what} yet."
    head = (f"In {what}", "Model", "Calls", "Sent", "From the cache", "To the cache", "Received", "Cost")
    return table(head, [_row(line) for line in found.lines])


def _row(line: Line) -> tuple[str, ...]:
    spent, usage = line.spent, line.spent.usage
    return (
        spent.purpose,
        spent.model,
        f"{spent.n_calls:,}",
        f"{usage.input_tokens:,}",
        f"{usage.cache_read_tokens:,}",
        f"{usage.cache_write_tokens:,}",
        f"{usage.output_tokens:,}",
        "not known" if line.dollars is None else _money(line.dollars),
    )


def _notes(found: Costs) -> str:
    notes = [f"Prices are of {load_price_table().as_of}, or those of your settings."]
    if found.n_estimated:
        notes.append(
            f"{counted(found.n_estimated, 'call')} broke off, or came without a count; what they took is estimated."
        )
    unknown = sorted({line.spent.model for line in found.lines if line.dollars is None})
    if unknown:
        names = ", ".join(map(plain, unknown))
        notes.append(
            f"No price is known for {names}: set `models.NAME.input_price` and `output_price` in your settings."
        )
    return " ".join(notes)


def dollars(found: Costs) -> str:
    """`$0.42`, with `at least` before it where a price is not known, and `about` where a count is estimated."""
    at_least = "" if found.is_priced else "at least "
    return f"{at_least}{'about ' if found.n_estimated else ''}{_money(found.dollars)}"


def _money(dollars: float) -> str:
    return f"${dollars:,.2f}" if dollars >= 1 or not dollars else f"${dollars:.4f}"
