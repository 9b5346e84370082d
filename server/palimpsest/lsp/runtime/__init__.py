"""Everything that knows pygls: the connection, its transports, and what works around pygls' defects."""
