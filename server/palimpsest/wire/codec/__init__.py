"""Values to and from JSON, and messages to and from bytes."""
