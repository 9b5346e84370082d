"""Messages in order: the chain of digests, and exchanges that stay whole."""
