"""Facts out of conversations: what an exchange tells, and what of it is kept.

`exchange` is what is read, `by_rules` and `from_model` propose candidates, `admission` decides.
"""
