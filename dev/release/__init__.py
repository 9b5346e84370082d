"""What a release consists of, and the check that each part of it works where nothing else is installed."""
