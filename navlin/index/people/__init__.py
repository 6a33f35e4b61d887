"""User metadata, and the tags inherited from it."""
