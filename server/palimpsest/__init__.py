"""Palimpsest: a language server that owns the conversation between a developer and a language model."""
