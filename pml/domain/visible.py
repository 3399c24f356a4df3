"""Text that shows all that it holds.

Intents, conditions, descriptions and values come from others, and a person decides by what is
seen: nothing may move a cursor, turn the direction of text, or be there and not be seen.
"""

from unicodedata import category

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Controls, formats (direction, no width), halves of characters, ends of lines and paragraphs."""
_KEPT = frozenset("\n\t\u200c\u200d")
"""Of those: line ends, tabs, and the joiners that scripts and emoji need."""
_BLANK = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, range(0xFE00, 0xFE0F)))
    + "".join(map(chr, range(0xE0100, 0xE01F0)))
)
"""Letters, marks and selectors that are drawn as nothing, but the one that emoji need."""


def visible(text: str) -> str:
    r"""The text with such characters as JavaScript writes them, as ``\u001b``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(char) if _is_hidden(char) else char for char in text)


def _is_hidden(char: str) -> bool:
    return char in _BLANK or (category(char) in _HIDDEN and char not in _KEPT)


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if len(f"{code:x}") <= 4 else f"\\u{{{code:x}}}"  # noqa: PLR2004
