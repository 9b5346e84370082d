"""Open workspace folders, other servers on the same folders, and the stores of moved folders."""
