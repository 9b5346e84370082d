"""The hub under kills, latency and load."""
