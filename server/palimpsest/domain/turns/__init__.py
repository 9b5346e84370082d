"""One question and its answer: states, the journal of the answer, and recovery."""
