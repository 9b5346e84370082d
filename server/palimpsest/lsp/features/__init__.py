"""What editors can ask, an area a module."""
