"""Everything durable: one SQLite file per workspace folder. The only package that knows SQL.

The functions of its modules run inside `Store.run`, `Store.read` or `Store.search`: one call is one transaction. Where
a call needs a `Writer` or a `HeldLease`, it comes first; values follow, and the time comes last.

A statement is plain SQL beside its function (`sql.execute`): peewee takes many times as long to make a statement as
SQLite takes to carry it out. Only `lifecycle` and `maintenance`, whose work is rare and with whole rows, use the models
of `tables`; an import contract holds the other modules to that.
"""
