"""Tools of models, and the user's approvals of what they do."""
