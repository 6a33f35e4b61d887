"""Generates the reference pages of the manual from the declarations in the code.

    python -m docs.from_code FOLDER

A page below ``docs`` contains lines of the form ``<!-- from code: NAME -->``. Each is replaced by the Markdown of the
part with this name.
"""
