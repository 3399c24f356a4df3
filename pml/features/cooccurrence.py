"""Co-occurrence: which tools are used in the same runs, and is it more than chance?

Counts of runs, of tools in them, and of pairs; they are whole numbers, so that adding and removing
runs in any order gives exactly what counting anew gives.

Reference: K. Church, P. Hanks, "Word association norms, mutual information, and lexicography",
Computational Linguistics 16(1), 1990 (PMI); G. Bouma, "Normalized (pointwise) mutual information
in collocation extraction", GSCL 2009, section 3.2 (divided by -log p(x, y), from -1 to 1).
"""

import math
from collections import Counter
from collections.abc import Iterable

MOST_TOGETHER = 200
"""Different ids of one run that make pairs; pairs grow with the square."""


class Cooccurrence:
    """How often ids were in the same run.

    Invariant: a pair is counted in at most as many runs as each of its ends, and every end in at
    most ``runs``.
    """

    def __init__(self) -> None:
        self.runs = 0
        self._single: Counter[str] = Counter()
        self._pairs: dict[str, Counter[str]] = {}

    def add(self, ids: Iterable[str]) -> None:
        """Count a run that used these; how often it did does not count."""
        self._count(ids, 1)

    def remove(self, ids: Iterable[str]) -> None:
        """Take out a run that was added.

        Raises:
            ValueError: no such run can have been added; nothing has changed then.
        """
        used = sorted(set(ids))
        pairs_ok = all(
            self.together(a, b) for place, a in enumerate(_paired(used)) for b in used[:place]
        )
        if self.runs == 0 or not all(map(self.count, used)) or not pairs_ok:
            msg = f"no run with these was added: {', '.join(used)}"
            raise ValueError(msg)
        self._count(used, -1)

    def count(self, one: str) -> int:
        """Runs that used it."""
        return self._single[one]

    def together(self, one: str, other: str) -> int:
        """Runs that used both."""
        return self._pairs.get(one, Counter())[other]

    def partners(self, one: str) -> dict[str, int]:
        """What was used in the same runs, and in how many."""
        return dict(self._pairs.get(one, ()))

    def npmi(self, one: str, other: str) -> float:
        """From -1 (never together) over 0 (as chance would have it) to 1 (only together).

        0 where nothing can be said: one of them was never used.
        """
        a, b, both = self.count(one), self.count(other), self.together(one, other)
        if not (a and b):
            return 0.0
        if both == 0:
            return -1.0
        if both == self.runs:
            return 1.0
        value = math.log(both * self.runs / (a * b)) / -math.log(both / self.runs)
        return min(max(value, -1.0), 1.0)

    def agreement(self, one: str, context: Iterable[str]) -> float:
        """Mean `npmi` with what a run has used so far; 0 without any."""
        values = [self.npmi(one, other) for other in context if other != one]
        return sum(values) / len(values) if values else 0.0

    def frequency(self, one: str) -> float:
        """log(1 + its runs) / log(1 + all runs); 0 before the first."""
        return math.log1p(self.count(one)) / math.log1p(self.runs) if self.runs else 0.0

    def _count(self, ids: Iterable[str], step: int) -> None:
        used = sorted(set(ids))
        self.runs += step
        for one in used:
            _bump(self._single, one, step)
        for place, one in enumerate(_paired(used)):
            for other in used[:place]:
                _bump(self._pairs.setdefault(one, Counter()), other, step)
                _bump(self._pairs.setdefault(other, Counter()), one, step)


def _paired(used: list[str]) -> list[str]:
    return used[:MOST_TOGETHER]


def _bump(counter: Counter[str], key: str, step: int) -> None:
    counter[key] += step
    if counter[key] == 0:
        del counter[key]
