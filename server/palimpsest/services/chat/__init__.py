"""Slash commands, mentions and attachments of a chat."""
