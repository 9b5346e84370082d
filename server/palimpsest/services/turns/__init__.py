"""The turn engine: from a question to a committed answer, and after a crash."""
