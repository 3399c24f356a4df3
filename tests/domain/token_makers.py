"""Tokens made up: random texts that a pattern matches, and one of each known format.

Random and not smallest, as hypothesis would have them: what is random about a token is what
some rules look for.
"""

import random
import re._constants as c  # type: ignore[import-not-found]  # typeshed leaves it out
import re._parser as parser  # type: ignore[import-not-found]
import string
from typing import Any

from pml.domain.token_formats import FORMATS, TokenFormat

_PRINTABLE = string.ascii_letters + string.digits
_UNBOUND = (12, 20)
"""Repetitions where a pattern sets no bound: as many as tokens have characters."""


def matching(pattern: str, rng: random.Random) -> str:
    """A text that the pattern matches, lookarounds and anchors left aside."""
    return _made(parser.parse(pattern), rng)


def token_of(token_format: TokenFormat, rng: random.Random) -> str:
    """A token as the service gives it out: some characters more than the rule needs."""
    rest = rf"[{token_format.alphabet}]{{{token_format.chars + 4}}}"
    body = matching(rest, rng)
    digit = str(rng.randrange(10))  # three in a hundred random texts have none, as names have
    return rng.choice(token_format.prefixes) + body[:2] + digit + body[3:]


def all_tokens(rng: random.Random) -> list[str]:
    """One of each known format."""
    return [token_of(each, rng) for each in FORMATS]


def _made(nodes: Any, rng: random.Random) -> str:  # noqa: ANN401  # a parsed pattern
    return "".join(_one(kind, value, rng) for kind, value in nodes)


def _one(kind: Any, value: Any, rng: random.Random) -> str:  # noqa: ANN401, PLR0911  # per kind
    if kind is c.LITERAL:
        return chr(value)
    if kind is c.ANY:
        return rng.choice(_PRINTABLE)
    if kind is c.IN:
        return rng.choice(_members(value))
    if kind in {c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT}:
        low, high, inner = value
        times = rng.randint(*_UNBOUND) if high is c.MAXREPEAT else rng.randint(low, high)
        return "".join(_made(inner, rng) for _ in range(times))
    if kind is c.SUBPATTERN:
        return _made(value[-1], rng)
    if kind is c.BRANCH:
        return _made(rng.choice(value[1]), rng)
    assert kind in {c.ASSERT, c.ASSERT_NOT, c.AT}, kind
    return ""


def _members(members: Any) -> str:  # noqa: ANN401
    if members[0][0] is c.NEGATE:
        return "".join(set(_PRINTABLE) - set(_members(members[1:])))
    found = ""
    for kind, value in members:
        if kind is c.LITERAL:
            found += chr(value)
        elif kind is c.RANGE:
            found += "".join(map(chr, range(value[0], value[1] + 1)))
        else:
            assert kind is c.CATEGORY
            digits = value is c.CATEGORY_DIGIT
            found += string.digits if digits else " " if value is c.CATEGORY_SPACE else _PRINTABLE
    return found
