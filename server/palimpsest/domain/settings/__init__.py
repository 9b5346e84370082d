"""The settings, their defaults, and how each is checked."""
