"""A conversation as a file: what it holds, its format, and what makes one sound."""
