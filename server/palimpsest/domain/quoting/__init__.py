"""Exact quotes that answer a question, or none: what the offline provider is made of.

`passages` holds the values, `ranking` finds the answers to a question, `files` the files that one names.
"""
