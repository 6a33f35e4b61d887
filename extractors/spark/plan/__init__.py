"""What a Spark plan reads and writes.

`tree` holds the operators, `text` the blocks of the printed plan, `names` the forms in which both print tables and paths;
`reads` and `writes` say what an operator touches, `shape` what tells one plan from another. `reading` puts it together.
"""
