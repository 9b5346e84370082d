"""Composition: the parts of the server put together; only here and in `cli` is the environment read."""
