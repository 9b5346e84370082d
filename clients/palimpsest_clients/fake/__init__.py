"""A model service on loopback that speaks every wire format of our clients, with the rules that the services enforce.

It is for tests, for benchmarks and, as `palimpsest fake-provider`, for authors of editor plugins. It uses the standard
library and none of our clients, because it judges them.
"""
