"""The one character that PostgreSQL's ``text`` cannot hold.

Replaced in texts for people, in both stores alike.  What must stay exact is stored as
bytes (the log) or as JSON text, which spells NUL as an escape.
"""

_NUL = "\x00"
_REPLACEMENT = "\ufffd"


def printable(text: str) -> str:
    """``text`` with NUL replaced by U+FFFD."""
    return text.replace(_NUL, _REPLACEMENT)
