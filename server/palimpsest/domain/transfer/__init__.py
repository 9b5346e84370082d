"""A conversation as a file: its content, its format, and the checks of an import."""
