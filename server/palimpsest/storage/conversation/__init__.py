"""Conversations and their messages, and the indexes that find them."""
