"""The extractors: one module per system, or a folder if a system needs several modules. Each registers its extractors.
`lineage` and `rest` register none, because they hold code that several extractors share.
"""
