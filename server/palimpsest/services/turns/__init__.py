"""Turns: from the user's message to the committed answer, and the recovery after a crash."""
