"""Everything durable: one SQLite file per workspace folder. The only package that knows SQL.

Functions of the aggregate modules run inside `Store.run` or `Store.read`: one call is one transaction.
"""
