"""One question and its answer: states, the journal of what was said, and recovery."""
