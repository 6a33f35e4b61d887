"""Attacks on a running `navlin serve`, written from SECURITY.md and the manual without knowledge of the code. See
tests/data/attacks.
"""
