"""The store's side of shared conversations: what is to be pushed to the hub, and how what the hub has is taken in.

Each function is called inside one transaction, so what the store knows of the hub never says more or less than what is
stored. Nothing here talks to a hub.
"""
