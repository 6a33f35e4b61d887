"""Use of data: who reads and writes it, its size, and what is known about its last reads."""
