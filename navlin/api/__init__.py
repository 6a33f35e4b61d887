"""The HTTP API. Queries are answered by `navlin.query`; runs are only requested, and executed by `navlin serve`."""
