"""The composition of the server. Only this package and `cli` read the environment."""
