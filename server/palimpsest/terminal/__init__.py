"""The terminal client: an editor among others. It starts the server and speaks the public protocol, nothing else."""
