"""Use cases. What happens when somebody chats, summarises, switches a model, or comes back after a crash."""
