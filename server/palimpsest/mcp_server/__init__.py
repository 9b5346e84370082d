"""`palimpsest mcp`: the conversations and facts of a folder for other agents, by the Model Context Protocol.

An edge, like `lsp`. Nothing here changes a conversation, and every answer has a bounded size. Needs the extra `mcp`,
which nothing outside this package imports.
"""
