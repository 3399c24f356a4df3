"""Escapes in strings and names of JavaScript."""

import re

_ESCAPE = re.compile(
    r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|[\s\S]))"
)
_SINGLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0"}
_LINE_ENDS = {"\n", "\r\n", "\r", "\u2028", "\u2029"}
_HIGHEST = 0x10FFFF


def unescape(text: str) -> str:
    """The value of the inside of a string literal; surrogate pairs are joined."""
    if "\\" not in text:
        return text
    return code_units(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def code_units(text: str) -> str:
    """The same, but exact: halves of surrogate pairs stay what they are, alone or not."""
    return _ESCAPE.sub(_unescape_one, text) if "\\" in text else text


def _unescape_one(match: "re.Match[str]") -> str:
    code = match[1] or match[2] or match[3]
    if code is not None:
        return chr(min(int(code, 16), _HIGHEST))
    if match[4] in _LINE_ENDS:
        return ""
    return _SINGLE.get(match[4], match[4])
