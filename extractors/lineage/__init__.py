"""What extractors share: following the logs of engines, and making operations, executions and flows of what engines ran.

`planned_files` finds what is new in files that only grow, `followed_files` reads it, `line_logs` record by record.
`statements` knows the kinds of SQL statements, `graph` and `record_times` read the records that Hive and Impala have in
common. `operations` makes Navigator's records of them.
"""
