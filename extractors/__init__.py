"""What each system is read with: a module, or a folder where a system needs more than one. Each registers its extractors.

`lineage` registers none: it holds what several extractors share.
"""
