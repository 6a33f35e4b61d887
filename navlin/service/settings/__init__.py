"""The configuration file and its settings."""
