"""Connections with servers of the Model Context Protocol, by its official package.

An edge, like `lsp`, on the other side: it asks others. Needs the extra `mcp`; `app.mcp_connections` imports it when the
first configured server starts.
"""
