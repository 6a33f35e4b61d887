"""What users write, and the tags inherited from it."""
