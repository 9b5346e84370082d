"""Conversion of values to and from JSON, and of messages to and from bytes."""
