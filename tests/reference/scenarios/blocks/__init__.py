"""Keys that stay denied for a while."""
