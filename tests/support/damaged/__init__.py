"""For each extractor, a source with damaged records, and the outcome of each record.

Each source is read with ``plan``, ``read`` and the function that a Spark task runs. Sound records lie next to the damaged
ones, and must be in the result whatever their neighbours.
"""
