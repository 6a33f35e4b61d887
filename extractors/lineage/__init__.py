"""What extractors share: following the logs of engines, and making operations, executions and flows of what engines ran.

`followed_files` finds and follows files that only grow, `line_logs` reads them line by line. `statements` knows the kinds of
SQL statements, `graph` and `record_times` read the records that Hive and Impala have in common. `operations`
makes Navigator's records of them.
"""
