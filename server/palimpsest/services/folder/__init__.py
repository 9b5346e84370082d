"""Workspace folders that are open, other servers on them, and stores that were left."""
