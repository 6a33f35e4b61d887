"""The graph in other models. What every target is made of stands here; a target is one more module, found by itself.

    values      what is exported: datasets, operations, runs
    choosing    which of them
    batches     these in their order, batch after batch
    reading     the graph → these values, a batch at a time
    target      the register: a target is a function from values to records

To add a target: a module (or package) here that registers itself, its test, and a line in README.
"""
