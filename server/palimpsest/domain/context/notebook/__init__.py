"""The notebook: an entry for each message, and the choice of what is worth repeating."""
