"""Data of other hosts: the agent that sends their files, and the directory in which navlin keeps what arrives."""
