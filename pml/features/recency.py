"""Recency: how much was something used lately?  What was used counts half after a half-life.

A sum of decayed uses is kept as its value at one moment; the value at any other follows, so
neither the times of use nor a clock are needed to go on.

Reference: G. Cormode, V. Shkapenyuk, D. Srivastava, B. Xu, "Forward Decay: A Practical Time Decay
Model for Streaming Systems", ICDE 2009, section 3 (exponential decay may be kept at any moment).
"""

from dataclasses import dataclass

HALF_LIFE_MS = 24 * 3_600_000 * 7
"""A week: what agents do changes between projects, not between hours."""


def decayed(age_ms: float, half_life_ms: float = HALF_LIFE_MS) -> float:
    """What is left of 1 after ``age_ms``; an age below 0 (clocks differ) counts as 0.

    Raises:
        ValueError: the half-life is not positive.
    """
    if not half_life_ms > 0:
        msg = f"the half-life must be positive, got {half_life_ms}"
        raise ValueError(msg)
    return float(2.0 ** -(max(age_ms, 0.0) / half_life_ms))


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """Uses of one thing.

    Invariant: ``sum`` is the sum of the uses, each halved per half-life between it and ``last_ms``.
    """

    sum: float = 0.0
    last_ms: int = 0
    """Of the latest use; means nothing while there is none."""
    half_life_ms: float = HALF_LIFE_MS

    def used(self, at_ms: int, weight: float = 1.0) -> "Uses":
        """With one more use; the order in which uses are told does not matter."""
        if self.sum == 0:
            return Uses(sum=weight, last_ms=at_ms, half_life_ms=self.half_life_ms)
        last = max(self.last_ms, at_ms)
        old = self.sum * decayed(last - self.last_ms, self.half_life_ms)
        new = weight * decayed(last - at_ms, self.half_life_ms)
        return Uses(sum=old + new, last_ms=last, half_life_ms=self.half_life_ms)

    def recency(self, now_ms: int) -> float:
        """1 for what is used now, 0.5 a half-life after the last use, 0 for what never was."""
        return decayed(now_ms - self.last_ms, self.half_life_ms) if self.sum > 0 else 0.0

    def activity(self, now_ms: int) -> float:
        """The decayed number of uses."""
        return self.sum * decayed(now_ms - self.last_ms, self.half_life_ms)
