"""Calls that may be repeated."""
