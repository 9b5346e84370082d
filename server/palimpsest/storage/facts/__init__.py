"""Facts, the places they rest on, and their index."""
