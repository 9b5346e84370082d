"""What the context engine still holds of recorded sessions, beside simple references."""
