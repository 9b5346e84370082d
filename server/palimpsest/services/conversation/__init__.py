"""Conversations: creation, history, search, purge, transfer and documents."""
