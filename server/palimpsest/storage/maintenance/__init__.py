"""Checking a store, repairing it, and reading a damaged one."""
