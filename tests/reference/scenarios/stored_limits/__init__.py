"""Limits of single keys that are stored."""
