"""The protocol's methods and types, an area a module."""
