"""The reference of the start-up benchmark: a pygls server without a single feature."""

from pygls.lsp.server import LanguageServer

if __name__ == "__main__":
    LanguageServer("bare", "0").start_io()
