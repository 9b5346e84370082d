"""A conversation as a text document, and the placement of our text in a document that the user is typing in."""
