"""Facts of a folder: learned from its conversations, kept, watched in files, and found for a question."""
