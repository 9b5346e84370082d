"""`palimpsest acp`: the conversations of a folder for editors that speak the Agent Client Protocol.

An edge, like `lsp`: it translates a request, calls a service, and translates the result. A session of the protocol is a
conversation, and its id is the conversation's. Needs the extra `acp`, which nothing outside this package imports.
"""
