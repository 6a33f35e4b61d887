"""``navlin demo``: a small but real estate with HDFS, YARN, a metastore, a Spark job, and records as Impala writes
them."""


class DemoFailed(Exception):
    """A component of the demo does not work; the message names the component and the reason."""
