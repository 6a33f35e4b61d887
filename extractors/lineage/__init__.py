"""Code that extractors share: following the logs of engines, and making operations, executions and flows from them.

`planned_files` finds new data in files that only grow, `followed_files` reads it; `line_logs` is the base of extractors
that read one record per line. `statements` knows the kinds of SQL statements; `graph` and `record_times` read the records
that Hive and Impala have in common. `operations` makes Navigator's records.
"""
