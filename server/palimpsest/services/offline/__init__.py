"""A search for when no model is set up."""
