"""Facts out of conversations, by rules or by a model, each resting on words that were said."""
