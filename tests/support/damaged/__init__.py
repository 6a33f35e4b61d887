"""For each extractor, a source with damaged records, and the outcome of each record.

Each source is read with ``plan``, ``read`` and the function that Spark tasks run. Damaged records are placed between
undamaged ones, which must always be in the result.
"""
