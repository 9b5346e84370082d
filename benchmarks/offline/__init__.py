"""How well the search without a model finds the file that a question is about."""
