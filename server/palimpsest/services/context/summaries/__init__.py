"""Writing summaries, by whom, and when."""
