"""Reads and writes of a Spark plan.

`tree` holds the operators, `text` the blocks of the printed plan, `names` the forms in which both print tables and paths;
`reads` and `writes` find the ends of an operator, `shape` the identity of a plan. `reading` combines them.
"""
