"""The search without a model: its words, the places it chooses, and the answer that shows them."""
