"""The extractors: one module per system, or a folder if a system needs several modules. Each registers its extractors.
`lineage` registers none, because it holds code that several extractors share.
"""
