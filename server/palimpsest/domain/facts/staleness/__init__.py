"""Staleness: whether the lines that a fact rests on still say the same."""
