"""Argument patterns: what a call's arguments look like, as a vector of fixed width (SP-7, 12.7).

"Files that end in .json work", "channels of production fail more often": what such sentences
speak of is kept, the arguments are not.  A pattern holds counts, the names of top-level
parameters, and words of a closed vocabulary (`pml.features.value_kinds`).

The vector has columns with a meaning (count, kinds, groups of extensions, environments) and
columns into which parameter name, kind and size are hashed together, so that every tool's own
parameters count without a column for each.

Reference: K. Weinberger, A. Dasgupta, J. Langford, A. Smola, J. Attenberg, "Feature Hashing for
Large Scale Multitask Learning", ICML 2009, section 2 (signed hashing: the inner product of two
hashed vectors is unbiased).  Where we differ: the hashed columns together have length 1, so that
calls with many arguments do not drown the others.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64

from pml.domain.secret_rules import redact_text
from pml.features.value_kinds import (
    EXTENSION_GROUPS,
    EXTENSIONS,
    SIZES,
    ValueKind,
    ValuePattern,
    value_pattern,
)

HASHED = 32
"""Columns that tokens are hashed into."""
MOST_VALUES = 200
"""Values looked at, in the order in which they stand; the rest of huge arguments adds nothing."""
MOST_ITEMS = 10
"""Of one list: its items are alike."""
_NAME = re.compile(r"[A-Za-z_$][\w$-]{0,39}")
_FEW_DIGITS = 3
_ANY_NAME = "*"
_FULL_COUNT = 8
"""Arguments at which the column of the count reaches a half."""
_TOKENS = 20_000

_GROUPS = (*EXTENSION_GROUPS, "other", "none")
_ENVIRONMENTS = ("production", "testing")
ARGUMENT_COLUMNS: tuple[str, ...] = (
    "arguments_count",
    *(f"arguments_{kind}" for kind in ValueKind),
    *(f"arguments_extension_{group}" for group in _GROUPS),
    *(f"arguments_{environment}" for environment in _ENVIRONMENTS),
    "arguments_size",
    *(f"arguments_hashed_{number:02}" for number in range(HASHED)),
)
"""Names of the columns of a vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedPattern:
    """A value, and the top-level parameter that it belongs to (``*`` for what is no name)."""

    name: str
    pattern: ValuePattern


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentPattern:
    """What one call's arguments look like; no value can be read from it."""

    count: int
    """Arguments, top level only."""
    values: tuple[NamedPattern, ...]
    """By name, the nested ones after what they are in; `MOST_VALUES` at most."""

    @property
    def has_path(self) -> bool:
        """Whether a value looks like a path or a file's name."""
        return any(value.pattern.kind is ValueKind.PATH for value in self.values)

    @property
    def extension(self) -> str | None:
        """Of the first path: a usual one, ``other`` or ``none``; None without a path."""
        paths = (v.pattern.detail for v in self.values if v.pattern.kind is ValueKind.PATH)
        return next(paths, None)

    @property
    def has_channel(self) -> bool:
        """Whether a value looks like ``#channel`` or ``@somebody``."""
        return any(value.pattern.kind is ValueKind.CHANNEL for value in self.values)


def argument_pattern(arguments: Any) -> ArgumentPattern:  # noqa: ANN401  # JSON
    """The pattern of a call's arguments; what is no object counts as one argument without a name.

    Raises:
        ValueError: something in it is no JSON value.
    """
    named = arguments if isinstance(arguments, Mapping) else {_ANY_NAME: arguments}
    count = 0 if arguments is None else len(named)
    items = sorted(named.items()) if count else []
    values: list[NamedPattern] = []
    for name, value in items:
        shown = _shown(name)
        inner = _values(value, MOST_VALUES - len(values))
        values.extend(NamedPattern(name=shown, pattern=value_pattern(one)) for one in inner)
    return ArgumentPattern(count=count, values=tuple(values))


def argument_vector(pattern: ArgumentPattern) -> Float32[np.ndarray, " columns"]:
    """One number from -1 to 1 per name of `ARGUMENT_COLUMNS`.

    Kinds, groups and environments are 1 where a value has them, the count is n / (n + 8), the
    size is the mean step as a share.  Without arguments all are 0.
    """
    vector = np.zeros(len(ARGUMENT_COLUMNS), dtype=np.float32)
    vector[0] = pattern.count / (pattern.count + _FULL_COUNT)
    if not pattern.values:
        return vector
    for value in pattern.values:
        vector[list(_flags(value.pattern))] = 1.0
    sizes = [value.pattern.size for value in pattern.values]
    vector[_COLUMN["arguments_size"]] = sum(sizes) / len(sizes) / (SIZES - 1)
    vector[-HASHED:] = _hashed(pattern.values)
    return vector


def argument_vectors(calls: Iterable[Any]) -> Float32[np.ndarray, "calls columns"]:
    """A row per call's arguments."""
    rows = [argument_vector(argument_pattern(arguments)) for arguments in calls]
    return np.stack(rows) if rows else np.zeros((0, len(ARGUMENT_COLUMNS)), dtype=np.float32)


class ArgumentProfile:
    """What the arguments of one tool or capability looked like, in its successes and its failures.

    Invariant: what has been added and removed again leaves no trace, up to rounding.
    """

    def __init__(self) -> None:
        self.counts: Float64[np.ndarray, " outcomes"] = np.zeros(2)
        """Failures, successes."""
        self._sums = np.zeros((2, len(ARGUMENT_COLUMNS)))

    def add(
        self, vector: Float32[np.ndarray, " columns"], *, success: bool, weight: float = 1.0
    ) -> None:
        """Count a call; a negative weight takes one out again."""
        self.counts[int(success)] += weight
        self._sums[int(success)] += weight * vector.astype(np.float64)

    def mean(self) -> Float32[np.ndarray, " columns"]:
        """Over all calls; zeros before the first."""
        total = float(self.counts.sum())
        mean = self._sums.sum(axis=0) / total if total > 0 else np.zeros(len(ARGUMENT_COLUMNS))
        return mean.astype(np.float32)

    def match(self, vector: Float32[np.ndarray, " columns"]) -> float:
        """How much more the arguments look like those that worked than those that failed.

        The difference of the cosines with both means, halved: from -1 to 1, 0 without knowledge.
        """
        one = vector.astype(np.float64)
        failed, worked = (_cosine(one, total) for total in self._sums)
        return (worked - failed) / 2


def _cosine(one: Float64[np.ndarray, " n"], other: Float64[np.ndarray, " n"]) -> float:
    norms = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / norms if norms > 0 else 0.0


_COLUMN = {name: place for place, name in enumerate(ARGUMENT_COLUMNS)}


@lru_cache(maxsize=_TOKENS)
def _flags(pattern: ValuePattern) -> tuple[int, ...]:
    names = [f"arguments_{pattern.kind}"]
    if pattern.kind is ValueKind.PATH:
        names.append(f"arguments_extension_{EXTENSIONS.get(pattern.detail, pattern.detail)}")
    if pattern.detail in _ENVIRONMENTS:
        names.append(f"arguments_{pattern.detail}")
    return tuple(_COLUMN[name] for name in names)


def _hashed(values: Iterable[NamedPattern]) -> Float64[np.ndarray, " hashed"]:
    vector = np.zeros(HASHED)
    for value in values:
        for place, sign in _places(value):
            vector[place] += sign
    length = float(np.linalg.norm(vector))
    return vector / length if length > 0 else vector


@lru_cache(maxsize=_TOKENS)
def _places(value: NamedPattern) -> tuple[tuple[int, int], ...]:
    """Column and sign of the tokens of a value: what it is, and how large it is, under its name."""
    pattern = value.pattern
    tokens = (f"{value.name}={pattern.kind}:{pattern.detail}", f"{value.name}~{pattern.size}")
    hashes = (
        int.from_bytes(blake2b(token.encode(), digest_size=8).digest(), "big") for token in tokens
    )
    return tuple(((number >> 1) % HASHED, 1 if number & 1 else -1) for number in hashes)


@lru_cache(maxsize=_TOKENS)
def _shown(name: str) -> str:
    """The name where it looks like one that somebody wrote into a schema; names can be data."""
    digits = sum(char.isdigit() for char in name)
    looks = _NAME.fullmatch(name) is not None and digits <= _FEW_DIGITS
    return name if looks and redact_text(name) == name else _ANY_NAME


def _values(value: Any, most: int) -> Iterator[Any]:  # noqa: ANN401  # JSON
    """The value and what is in it, breadth first, so that a deep one cannot hide its siblings."""
    queue, given = [value], 0
    while queue and given < most:
        inner: list[Any] = []
        for one in queue[: most - given]:
            yield one
            given += 1
            if isinstance(one, Mapping):
                inner.extend(one.values())
            elif isinstance(one, list | tuple):
                inner.extend(one[:MOST_ITEMS])
        queue = inner
