"""What a model's service is to the server: requests, events, limits, and what must not reach it."""
