"""The columns that a plan writes, with the columns that each is made from.

`lists` splits the lists of a block, `flow` holds the sources of one column, `expressions` finds the references of an
expression, `relations` holds the output of an operator; `rows`, `grouping`, `sources` and `merging` know the operators,
`plans` walks them from the scans to the root, `written` names the columns that the command writes.
"""
