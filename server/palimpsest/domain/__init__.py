"""Values and rules, no I/O. Nothing here waits, reads a clock, or opens a file."""
