"""What goes through the whole store at once: purges, transfers, facts that are out of sight."""
