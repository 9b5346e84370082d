"""The tokens of a stretch of lines: what it says, apart from how it is laid out."""
