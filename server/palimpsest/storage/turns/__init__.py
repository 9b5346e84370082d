"""Turns, their journal and their recovery."""
