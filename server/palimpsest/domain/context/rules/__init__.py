"""What the user rules, in five languages: found in messages, taken back, and told in every request."""
