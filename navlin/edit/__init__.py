"""Edits of the index by people, and by programs in their name: only through `navlin.index`."""
