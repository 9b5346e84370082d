"""Conversations: their life, search, purge, transfer and documents."""
