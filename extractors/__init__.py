"""The extractors: a module for each system, or a folder if a system needs several. Each registers its extractors.

`lineage` registers none: it holds code that several extractors share.
"""
