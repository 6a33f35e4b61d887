"""Determine the columns that a plan writes, and the source columns of each.

`lists` splits the lists of a block, `flow` holds the sources of one column, `expressions` finds the references in an
expression, and `relations` holds the output of an operator. `rows`, `grouping`, `sources` and `merging` contain the
rules for operators. `plans` applies the rules from the scans to the root, and `written` names the columns that a
command writes.
"""
