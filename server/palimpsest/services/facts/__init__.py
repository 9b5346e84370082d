"""The librarian: learns facts, watches the files they rest on, and finds those a question needs."""
