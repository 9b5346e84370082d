"""Chat documents: conversations as text documents, with requests that any editor has."""
