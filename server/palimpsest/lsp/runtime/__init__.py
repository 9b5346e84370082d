"""All code that depends on the inner workings of pygls: the connection, its transports, and replacements for its
defects."""
