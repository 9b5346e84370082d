"""Chat documents in plain LSP."""
