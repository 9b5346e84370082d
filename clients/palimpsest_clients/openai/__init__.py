"""The two formats of OpenAI: Responses at OpenAI itself, Chat Completions at the services that imitate it."""
