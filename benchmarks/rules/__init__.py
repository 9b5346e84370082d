"""What the user rules and takes back: how much of it is found, and how much is found that is none."""
