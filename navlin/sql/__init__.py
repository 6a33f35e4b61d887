"""Lineage of SQL texts, as a fallback if no engine recorded any.

`navlin.sql.bounded` reads a text in a child process; the modules that run there (`child`, `texts`, `current_database`,
`statements`, `altered`, `queries`, `sources`, `scopes`, `joins`, `values`, `flows`, `parsing`, `pipes`, `rewriting`)
are the only code that loads sqlglot.
"""
