"""The slash commands of a chat: their table, and what each of them does and answers."""
