"""Conversations and messages in SQLite, and the indexes that find them."""
