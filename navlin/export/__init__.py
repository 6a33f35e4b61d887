"""Exports of the graph to other models. This package contains the parts that all targets share; each target is a
further module, found automatically.

    values      the exported values: datasets, operations, runs
    choosing    the selection of items to export
    batches     the selected items in order, batch after batch
    reading     the graph → these values, a batch at a time
    target      the register of targets; a target converts values to records

To add a target: a module (or package) here that registers itself, its test, and a line in README.
"""
