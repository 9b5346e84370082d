"""The custom part of the protocol: declared here once, generated for the editors. Knows no pygls and no lsprotocol."""
