"""The extraction of facts from conversations, by rules or by a model; each fact rests on words that were said."""
