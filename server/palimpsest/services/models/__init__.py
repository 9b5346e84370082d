"""Models: the catalog, limits, token counting, keys, and the models that editors lend."""
