"""Text that shows all that it holds.

Intents, conditions, descriptions and values come from others, and a person decides by what is
seen: nothing may move a cursor, turn the direction of text, or be there and not be seen.
"""

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""C0, DEL and C1, what turns the direction of text, what has no width (but the joiners that
scripts and emoji need), tags, and halves of characters."""


def visible(text: str) -> str:
    r"""The text with such characters as JSON writes them, as ``\u001b``."""
    return _HIDDEN.sub(lambda found: _escaped(found[0]), text)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\u{{{code:x}}}"  # noqa: PLR2004  # BMP
