"""Reservations, blocks, stored limits and request ids in one history."""
