"""A model service on loopback that speaks every wire format our clients speak, with the rules the services enforce.

For tests, for benchmarks, and as `palimpsest fake-provider` for whoever writes an editor plugin. Standard library only,
and none of our clients: what judges them must not be built from them.
"""
