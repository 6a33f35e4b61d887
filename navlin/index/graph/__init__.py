"""The stored graph, for reading: entities, relations, and filters for them."""
