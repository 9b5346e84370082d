"""Conversations that are shared through a hub. Only this package of the services knows the hub."""
