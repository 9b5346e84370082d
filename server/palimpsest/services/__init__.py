"""Use cases. What happens when somebody chats, summarizes, switches a model, or comes back after a crash."""
