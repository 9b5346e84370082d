"""Turns, their journal and their recovery in SQLite."""
