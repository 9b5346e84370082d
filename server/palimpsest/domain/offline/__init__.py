"""What a search without a model looks for, which places it chooses, and how it shows them."""
