"""The terminal client. Like any editor, it starts the server and speaks the public protocol, nothing else."""
