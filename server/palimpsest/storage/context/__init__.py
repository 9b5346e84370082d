"""Cuts, summaries, previews and rules by command in SQLite."""
