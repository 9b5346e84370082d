"""Retrieval: the facts and passages that a question needs, within a number of tokens."""
