"""The graph in other models. This package has the parts that all targets share; a target is one more module, found
automatically.

    values      the exported values: datasets, operations, runs
    choosing    their selection
    batches     the selected items in order, batch after batch
    reading     the graph → these values, a batch at a time
    target      the register: a target is a function from values to records

To add a target: a module (or package) here that registers itself, its test, and a line in README.
"""
