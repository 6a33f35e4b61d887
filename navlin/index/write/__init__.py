"""Writes of entities and relations."""
