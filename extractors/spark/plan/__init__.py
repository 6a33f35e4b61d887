"""Find the reads and writes of a Spark plan.

`tree` parses the operators, `text` the blocks of the printed plan, and `names` the tables and paths in both. `reads`
and `writes` find the inputs and targets of operators, `shape` identifies a plan, and `reading` combines them all.
"""
