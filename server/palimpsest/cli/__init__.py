"""The command `palimpsest`, a module for each of its commands."""
