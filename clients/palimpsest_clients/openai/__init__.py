"""The two formats of OpenAI: Responses for OpenAI itself, Chat Completions for the services that imitate it."""
