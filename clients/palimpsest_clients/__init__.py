"""Model clients: the only code that speaks to the services of models.

Importing this package loads nothing else. The module of a client (`anthropic`, `openai.responses`) loads the HTTP
stack, so it is imported when a key or an address for its service is configured, and not before.
"""
