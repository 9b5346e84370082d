"""A conversation as a text document, and where text of ours goes in one that somebody types in."""
