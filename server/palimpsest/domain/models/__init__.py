"""The server's view of a model's service: requests, events, limits, and secrets that must not reach it."""
