"""The edge: pygls and lsprotocol. Translates in, calls one service, translates out."""
