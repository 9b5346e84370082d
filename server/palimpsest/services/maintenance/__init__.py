"""The checks and repairs of a store, the rescue of a damaged one, and the replay of recorded sessions."""
