"""The rules of the user in five languages: found in messages, superseded and taken back, sent with every request."""
