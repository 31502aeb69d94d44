"""Calls about one key under every rule, and the rules as data."""
