"""The context engine: fits conversations into models' windows."""
