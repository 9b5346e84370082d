"""The servers of the Model Context Protocol of one folder: their life, and what of them tools, mentions and commands
use. Nothing here knows how to speak to one; see `connection`."""
