"""A small estate of real parts for `navlin demo`: a metastore, a Spark job, records as Impala writes them."""
