"""Cost that is held until it is known, and work in flight."""
