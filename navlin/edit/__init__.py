"""Edits of the index by people, and by programs on their behalf. All of them go through `navlin.index`."""
