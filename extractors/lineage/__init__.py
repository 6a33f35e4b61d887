"""Code that extractors share, for following the logs of engines and for creating operations, executions and flows.

`planned_files` finds new data in files that only grow, and `followed_files` reads it. `line_logs` is the base of
extractors that read one record per line. `statements` knows the kinds of SQL statements. `graph` and `record_times`
read the structures shared by the records of Hive and Impala. `operations` creates Navigator's records.
"""
