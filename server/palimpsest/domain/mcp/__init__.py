"""Servers of the Model Context Protocol whose tools the model may call: how one is configured, and what it offers."""
