"""What a model is shown of a conversation: the cut, its budget, and the request made of it."""
