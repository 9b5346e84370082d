"""Summaries of stretches of messages, by extraction and by models, and the evidence they must keep."""
