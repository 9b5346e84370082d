"""The context of a conversation: cuts, summaries, injections, and rules given by command."""
