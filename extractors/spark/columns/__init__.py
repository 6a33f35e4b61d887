"""Which columns a plan's written columns are made from.

`lists` takes apart what a block prints, `flow` is what is known of one column, `expressions` finds what an expression refers
to, `relations` what an operator hands on to the next; `rows`, `grouping`, `sources` and `merging` know the operators,
`plans` walks them from the scans to the root, `written` names the columns that the command writes.
"""
