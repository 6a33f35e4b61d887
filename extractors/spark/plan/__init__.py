"""Reads and writes of a Spark plan.

`tree` parses the operators, `text` the blocks of the printed plan, `names` the tables and paths that both print. `reads`
and `writes` find the inputs and targets of operators, `shape` identifies a plan, and `reading` combines them all.
"""
