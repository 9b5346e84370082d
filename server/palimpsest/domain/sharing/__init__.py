"""Conversations that several machines have: the log that a hub keeps of each, and what may be in it."""
