"""Answers without a model: quotes of what was said and of files."""
