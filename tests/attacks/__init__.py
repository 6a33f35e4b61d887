"""Attacks on a running `navlin serve`, written from SECURITY.md and README.md without knowledge of the code. See
tests/data/attacks.
"""
