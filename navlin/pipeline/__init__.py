"""Run one source once: plan, read, reconcile, write, link, save. The only place that makes a SparkSession."""
