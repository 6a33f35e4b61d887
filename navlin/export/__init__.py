"""Exports the graph to other models. This package contains the code that all targets share. Each target is a separate
module or package here, found automatically.

    values      the exported values: datasets, operations, runs
    choosing    the selection of items to export
    batches     the selected items in order, batch after batch
    reading     converts entities of the graph to these values, batch after batch
    target      the register of targets; a target converts values to records

To add a target: a module (or package) here that registers itself, its test, and the manual's tables: a line in one, and
a column in that of the model, to which tests hold the records.
"""
