"""Which facts and passages a question needs, within a number of tokens."""
