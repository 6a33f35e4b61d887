"""Edits of the index by people and by programs. All edits go through `navlin.index`."""
