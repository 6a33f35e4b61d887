"""Lineage of SQL texts for which no engine recorded any: the fallback.

`navlin.sql.bounded` reads a text in a child process; the modules that run there (`child`, `texts`, `current_database`,
`statements`, `altered`, `queries`, `sources`, `scopes`, `joins`, `values`, `flows`, `parsing`, `pipes`, `rewriting`) are the
only code that loads sqlglot.
"""
