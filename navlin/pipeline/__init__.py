"""Runs a source: plan, read, reconcile, write, link, save. Only this package creates a SparkSession."""
