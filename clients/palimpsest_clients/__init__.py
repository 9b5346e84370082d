"""Model clients: the only code that speaks to LLM services.

Importing this package loads nothing else. A client's module (`anthropic`, `openai.responses`) brings the HTTP stack
with it, so it is imported when a key or an address for that service is configured, and not before.
"""
