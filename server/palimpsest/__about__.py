"""The version, read by the build and by `palimpsest --version`."""

__version__ = "0.1.0"
