"""What a Spark plan reads and writes.

`tree` holds the operators, `text` the blocks of the printed plan, `names` the forms in which both print tables and paths;
`reads` and `writes` find what an operator touches, `shape` what identifies a plan. `reading` puts it together.
"""
