"""The extractors of each system: a module, or a folder if a system needs more than one. Each registers its extractors.

`lineage` registers none: it holds code that several extractors share.
"""
