"""The cyclic garbage collector of a process that serves for long.

What is there when a server is ready (modules, tools, capabilities, the index) stays: it is set
aside, so that it is not looked through again and again.  A young collection waits for 20,000
new objects instead of 700, and one of everything for 2,000 of those: analysis makes a node per
syntax node and takes its tree apart when it is done, so nearly all of it goes without.  Of a
program of 5,000 lines the collector took a third of the time with Python's defaults
(`experiments/bench/analysis.py`).
"""

import gc

YOUNG_OBJECTS = 20_000
YOUNG_COLLECTIONS = 20
"""Before one of the middle generation."""
MIDDLE_COLLECTIONS = 100
"""Before one of everything."""


def settle() -> None:
    """Set aside what is there, and collect less often from here on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_COLLECTIONS, MIDDLE_COLLECTIONS)
