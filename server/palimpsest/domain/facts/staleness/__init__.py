"""Whether the lines a fact rests on still say the same."""
