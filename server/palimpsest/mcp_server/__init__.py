"""`palimpsest mcp`: what was said and learned in a folder, for other agents, by the Model Context Protocol.

The edge, as `lsp` is. Nothing here changes a conversation, and every answer is bounded. Needs the extra `mcp`, which
nothing outside this package imports.
"""
