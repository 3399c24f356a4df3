"""The characters that PostgreSQL's ``text`` cannot hold: NUL, and halves of a pair.

Replaced in texts for people, in both stores alike; and in ids that are looked up, which then
are of nothing.  What must stay exact is stored as bytes (the log) or as JSON text, which
spells NUL as an escape.
"""

import re

_UNFIT = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\ufffd"


def printable(text: str) -> str:
    """``text`` with each NUL and each lone surrogate replaced by U+FFFD."""
    return _UNFIT.sub(_REPLACEMENT, text)
