"""Names of servers and tools that could mislead: who reads them, or PML (HIL-5).

A person decides by the names that they see, and permissions go by names.  So a name shows all
that it holds, and no two names of a server look the same.  The reference for look-alikes is
Unicode Technical Standard 39 (Unicode Security Mechanisms), section 4, whose skeletons these
are, with NFKC for its NFD and a table of the letters that pass for Latin ones; digits and
letters that only look alike in some fonts (``1`` and ``l``) stay apart.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final

from pml.domain.structure import SITE_MARK
from pml.domain.visible import visible

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, formats (no width, direction, tags), halves, private and unknown characters, breaks."""
_LETTER: Final = re.compile(r"[^\W\d_]")
_PAIRS: Final = (
    ("авекмнорстухіјѕһԁԛԝү", "abekmhopctyxijshdqwy"),  # Cyrillic
    ("АВЕКМНОРСТУХІЈЅҺԀԚԜҮ", "ABEKMHOPCTYXIJSHDQWY"),
    ("αονρυικ", "aovpuik"),  # Greek
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),  # noqa: RUF001
    ("\u0585\u057d\u0570\u0578\u0581\u0566\u0555\u054d", "ouhngqOU"),  # Armenian
    ("\u0131\u0251\u0261", "iag"),  # Latin: dotless i, alpha, script g
    ("\u2010\u2011\u2012\u2013\u2014\u2212", "------"),  # hyphens, dashes, minus
)
_ALIKE: Final = {ord(alike): latin for pair in _PAIRS for alike, latin in zip(*pair, strict=True)}
"""Letters that pass for a Latin one, and that one."""


def name_fault(name: str) -> str | None:
    """What is wrong with the name of a server or tool, if it could mislead a reader or PML."""
    if not name or name != name.strip():
        return "is empty or has blanks around it"
    if SITE_MARK in name:
        return f"holds {SITE_MARK!r}, which PML uses to mark call sites"
    if any(unicodedata.category(char) in _HIDDEN for char in name) or visible(name) != name:
        return "holds control or invisible characters"
    if any(char != " " and unicodedata.category(char) == "Zs" for char in name):
        return "holds a blank that is no ordinary space"
    if any(map(_mixes, _words(name))):
        return "mixes Latin letters with others that look like them"
    return None


def skeleton(name: str) -> str:
    """The same for names that a reader takes for one another."""
    folded = unicodedata.normalize("NFKC", name).translate(_ALIKE).casefold()
    return unicodedata.normalize("NFKC", folded)


def collisions(names: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
    """To each name those of the others that look like it, in their order."""
    alike: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for name in names:
        alike[skeleton(name)][name] = None
    return {
        name: tuple(other for other in group if other != name)
        for group in alike.values()
        if len(group) > 1
        for name in group
    }


def _words(name: str) -> Iterator[str]:
    for is_word, chars in groupby(name, key=lambda char: _LETTER.match(char) is not None):
        if is_word:
            yield "".join(chars)


def _mixes(word: str) -> bool:
    return any(char.isascii() for char in word) and any(
        ord(char) in _ALIKE and not _is_latin(char) for char in word
    )


def _is_latin(char: str) -> bool:
    return unicodedata.name(char, "").startswith("LATIN ")
