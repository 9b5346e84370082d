"""`palimpsest acp`: the conversations of a folder for editors that speak the Agent Client Protocol.

The edge, as `lsp` is: translate in, call a service, translate out. A session of the protocol is a conversation, and its
id is the conversation's. Needs the extra `acp`, which nothing outside this package imports.
"""
