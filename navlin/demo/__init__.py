"""A small estate of real parts for `navlin demo`: a metastore, a Spark job, records as Impala writes them."""


class DemoFailed(Exception):
    """A part of the demo does not work; the message names it and the reason."""
