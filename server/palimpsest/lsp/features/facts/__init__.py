"""Facts as requests, code actions and diagnostics."""
