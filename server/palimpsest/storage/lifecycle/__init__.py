"""Work that goes through the whole store at once: purges, transfers, and forgotten facts."""
