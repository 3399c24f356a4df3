"""How much a word of a field's name says: common ones (``id``, ``name``) say little.

The numbers are those of a fixed background, not of the catalogue at hand, so that a pair of
tools has one score, whatever other tools there are: an index can then take tools in and out
one by one and always equal one built anew.
"""

from functools import lru_cache
from math import log

from pml.analysis.fields.background import COUNTS, LEAST, TOOLS

_UNLISTED = LEAST // 2
"""What is assumed of a word that the background does not list."""


@lru_cache(maxsize=65_536)
def rarity(word: str) -> float:
    """From 0 (in every tool) to 1 (in hardly any): inverse document frequency, normalised."""
    return log(TOOLS / COUNTS.get(word, _UNLISTED)) / log(TOOLS / _UNLISTED)
