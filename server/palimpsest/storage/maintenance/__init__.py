"""Looking at a store, mending it, and reading a damaged one."""
