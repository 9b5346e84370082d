"""Facts tied to places in files: how they are found, when they are stale, and which a question needs."""
