"""What kind of thing an argument is, told by its form alone (SP-7, story 12.7).

The one idea: every answer comes from a closed vocabulary that stands in this file.  No text of a
value goes into an answer, so no answer gives one away: ``#payments-prod`` is a channel of a
production environment, and so are millions of other names.  The exceptions are kinds with one
value only (null, empty text, list or object), which say nothing about anybody.

Where we differ from the story: it keeps the extension and the channel as they are.  Here an
extension is named if it is a usual one, and a channel is known by the environment that its name
speaks of.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pml.domain.secret_rules import MASK

LOOKED_AT = 2_000
"""Characters of a text that its kind is told from; what is longer is text or lines anyway."""
SIZES = 6
"""Steps of a size: nothing, 1 to 3, to 15, to 63, to 255, more."""


class ValueKind(StrEnum):
    """What an argument looks like."""

    NULL = "null"
    BOOLEAN = "boolean"
    INTEGER = "integer"
    FRACTION = "fraction"
    LIST = "list"
    OBJECT = "object"
    EMPTY = "empty"
    REDACTED = "redacted"
    URL = "url"
    EMAIL = "email"
    UUID = "uuid"
    DATE = "date"
    TIME = "time"
    NUMERAL = "numeral"
    CHANNEL = "channel"
    PATH = "path"
    IDENTIFIER = "identifier"
    WORD = "word"
    TEXT = "text"
    LINES = "lines"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuePattern:
    """What is known of one value.

    ``detail`` is a word of `EXTENSIONS`, `ENVIRONMENTS` or ``SIGNS``, or empty; ``size`` is a step
    (see `SIZES`) of a text's characters, a number's digits, a list's items, an object's members.
    """

    kind: ValueKind
    detail: str = ""
    size: int = 0


EXTENSION_GROUPS = {
    "data": "csv json jsonl ndjson parquet sqlite tsv xml yaml yml toml ini env xls xlsx db sql",
    "code": "c cpp cs css go h html java js jsx kt php py r rb rs scss sh swift ts tsx ipynb",
    "text": "log md rst tex txt lock diff patch",
    "document": "doc docx epub odt pdf ppt pptx rtf",
    "media": "avi bmp flac gif ico jpeg jpg mkv mov mp3 mp4 ogg png svg tiff wav webm webp",
    "archive": "7z bz2 gz jar rar tar tgz whl xz zip",
}
EXTENSIONS = {word: group for group, words in EXTENSION_GROUPS.items() for word in words.split()}
"""The usual ones, each with its group; all others are ``other``, and a path may have ``none``."""
ENVIRONMENTS = {
    **dict.fromkeys(("prod", "production", "live", "main", "master", "release"), "production"),
    **dict.fromkeys(("dev", "development", "qa", "sandbox", "staging", "test", "tests"), "testing"),
}
"""Words of a channel or a name that say how much is at stake."""

_WORDS = re.compile(r"[^\W_]+")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}+://\S+")
_EMAIL = re.compile(r"[^\s@]++@[^\s@.]++(?:\.[^\s@.]++)+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_DATE = re.compile(
    r"(?:\d{4}[-/]\d{1,2}[-/]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})(?:[T ]\d{1,2}:\d{2}\S*)?"
)
_TIME = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp][Mm])?")
_NUMERAL = re.compile(r"[+-]?[\d(][\d ().,-]*")
_CHANNEL = re.compile(r"[#@][\w.-]+")
_ROOT = re.compile(r"~|\.{0,2}[/\\]|[A-Za-z]:[/\\]")
_EXTENSION = re.compile(r"[^./\\\s]\.(\w{1,10})$")
_OPAQUE_CHARS = 6


def value_pattern(value: Any) -> ValuePattern:  # noqa: ANN401  # JSON
    """The pattern of one JSON value; what is in a list or an object is not looked at."""
    match value:
        case None:
            return ValuePattern(kind=ValueKind.NULL)
        case bool():
            return ValuePattern(kind=ValueKind.BOOLEAN)
        case int() | float():
            return _number(value)
        case list() | tuple():
            return ValuePattern(kind=ValueKind.LIST, size=size_step(len(value)))
        case dict():
            return ValuePattern(kind=ValueKind.OBJECT, size=size_step(len(value)))
        case str():
            return _text(value)
    msg = f"no JSON value: {type(value).__name__}"
    raise ValueError(msg)


def size_step(size: int) -> int:
    """0 for nothing, then a step for each factor of four, `SIZES` - 1 at most."""
    return min((size.bit_length() + 1) // 2, SIZES - 1)


def _number(value: float) -> ValuePattern:
    """Its sign and its size in steps of a hundred; what is not finite counts as the largest."""
    whole = isinstance(value, int) or value.is_integer()  # to JavaScript 1.0 is 1
    kind = ValueKind.INTEGER if whole else ValueKind.FRACTION
    magnitude = abs(value)
    size = next((step for step in range(1, SIZES - 1) if magnitude < 100**step), SIZES - 1)
    return ValuePattern(kind=kind, detail="negative" if value < 0 else "", size=size)


def _text(text: str) -> ValuePattern:
    size = size_step(len(text))
    head = text[:LOOKED_AT].strip()
    kind = _kind_of_text(head) if len(text) <= LOOKED_AT else _kind_of_prose(head)
    return ValuePattern(kind=kind, detail=_detail(kind, head), size=size)


def _kind_of_text(text: str) -> ValueKind:
    """The first of the forms that fits, the most telling first."""
    if MASK in text:
        return ValueKind.REDACTED
    if "\n" in text:
        return ValueKind.LINES
    formal = next((kind for kind, form in _FORMS if form.fullmatch(text)), None)
    if formal is not None:
        return formal
    return ValueKind.PATH if _is_path(text) else _kind_of_prose(text)


_FORMS = (
    (ValueKind.EMPTY, re.compile("")),
    (ValueKind.URL, _URL),
    (ValueKind.EMAIL, _EMAIL),
    (ValueKind.UUID, _UUID),
    (ValueKind.DATE, _DATE),
    (ValueKind.TIME, _TIME),
    (ValueKind.NUMERAL, _NUMERAL),
    (ValueKind.CHANNEL, _CHANNEL),
)


def _kind_of_prose(text: str) -> ValueKind:
    if "\n" in text:
        return ValueKind.LINES
    if _has_space(text):
        return ValueKind.TEXT
    digits = any(char.isdigit() for char in text)
    if digits and len(text) >= _OPAQUE_CHARS and any(char.isalpha() for char in text):
        return ValueKind.IDENTIFIER
    return ValueKind.WORD


def _has_space(text: str) -> bool:
    return len(text.split(maxsplit=1)) > 1


def _is_path(text: str) -> bool:
    """Begins as one, or is a file's name: one word that ends in a usual extension."""
    if _ROOT.match(text):
        return True
    return not _has_space(text) and _extension(text) not in ("none", "other")


def _extension(text: str) -> str:
    found = _EXTENSION.search(text)
    if found is None:
        return "none"
    return found[1].lower() if found[1].lower() in EXTENSIONS else "other"


def _detail(kind: ValueKind, text: str) -> str:
    if kind is ValueKind.PATH:
        return _extension(text)
    if kind in (ValueKind.CHANNEL, ValueKind.WORD):
        words = (word.lower() for word in _WORDS.findall(text.replace("_", " ")))
        return next((ENVIRONMENTS[word] for word in words if word in ENVIRONMENTS), "")
    return ""
