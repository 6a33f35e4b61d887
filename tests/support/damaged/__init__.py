"""A source of each extractor whose records are damaged, and what becomes of each of them.

Every one goes in by ``plan`` and ``read``, and comes out of the function that a Spark task runs. Beside what is damaged
stand sound records, which have to be there in the end whatever stood beside them.
"""
