"""Prediction by partial matching: what comes next, told by the longest context seen before.

The chance of a symbol after a context is its share there; what the context keeps back for
symbols that it has never seen, the escape, is shared out by the next shorter context, and so on
to the empty one.  Variant C: of a context seen ``n`` times with ``u`` kinds of symbols after it,
a symbol seen ``c`` times gets ``c / (n + u)`` and the escape ``u / (n + u)``.

Reference:
    A. Moffat: Implementing the PPM data compression scheme, IEEE Transactions on Communications
    38(11), 1990, section II (method C).  We do not exclude from the shorter contexts what a
    longer one has seen (a symbol's chance is the sum over the contexts), and give nothing to
    symbols never seen at all: so chances sum to less than one by the last escape.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

_START = None
"""Stands before the first symbol, so that contexts know where a sequence begins."""
_Context = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What has come after a context."""

    symbols: Int64[np.ndarray, " kinds"]
    times: Float64[np.ndarray, " kinds"]
    total: int


class Ppm:
    """Counts of what came after each context of at most ``order`` symbols.

    Attributes:
        symbols: all that have been seen, the most frequent first, then by name.
        counts: how often each was seen, in the order of ``symbols``.
    """

    def __init__(self, sequences: Iterable[Sequence[str]], *, order: int) -> None:
        if order < 0:
            msg = f"order must not be negative, got {order}"
            raise ValueError(msg)
        after = _counted(sequences, order)
        total = after[()]
        self.order = order
        self.symbols = tuple(sorted(total, key=lambda symbol: (-total[symbol], symbol)))
        self.counts = tuple(total[symbol] for symbol in self.symbols)
        place = {symbol: number for number, symbol in enumerate(self.symbols)}
        self._after = {context: _seen(counts, place) for context, counts in after.items() if counts}

    def chances(
        self, context: Sequence[str], *, order: int | None = None
    ) -> Float64[np.ndarray, " symbols"]:
        """Chance of each of ``symbols`` to come after a context that begins a sequence.

        Args:
            context: all that came before, the earliest first.
            order: how many symbols of it may count; all that were counted if not given.
        """
        before: _Context = (_START, *context)
        chances = np.zeros(len(self.symbols))
        left = 1.0
        longest = min(self.order if order is None else order, self.order, len(before))
        for length in range(longest, -1, -1):
            seen = self._after.get(before[len(before) - length :])
            if seen is not None:
                kinds = len(seen.symbols)
                chances[seen.symbols] += left * seen.times / (seen.total + kinds)
                left *= kinds / (seen.total + kinds)
        return chances


def _counted(sequences: Iterable[Sequence[str]], order: int) -> dict[_Context, Counter[str]]:
    after: dict[_Context, Counter[str]] = defaultdict(Counter)
    after[()] = Counter()
    for sequence in sequences:
        padded: _Context = (_START, *sequence)
        for at, symbol in enumerate(sequence, start=1):
            for length in range(min(order, at) + 1):
                after[padded[at - length : at]][symbol] += 1
    return after


def _seen(counts: Counter[str], place: dict[str, int]) -> _Seen:
    return _Seen(
        symbols=np.array([place[symbol] for symbol in counts], dtype=np.int64),
        times=np.array(list(counts.values()), dtype=np.float64),
        total=counts.total(),
    )
