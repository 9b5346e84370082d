"""The settings: their declarations, defaults and checks."""
