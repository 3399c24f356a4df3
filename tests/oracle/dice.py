"""Choices of the program writer: from a seed, from a list, or from bytes that hypothesis drew.

Every choice is a number below a bound, and 0 is the simplest: a list of choices in which some
are left out or made smaller is a smaller program, whoever made it.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice(ABC):
    """Where choices come from."""

    @abstractmethod
    def below(self, bound: int) -> int:
        """A number from 0 to ``bound - 1``."""

    def randrange(self, bound: int) -> int:
        """The same, as `random.Random` calls it."""
        return self.below(bound)

    def randint(self, low: int, high: int) -> int:
        """A number from ``low`` to ``high``."""
        return low + self.below(high - low + 1)

    def choice(self, options: Sequence[T]) -> T:
        """One of the options; the first is the simplest."""
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        """Whether something less simple happens."""
        return self.below(100) >= 100 - percent


class Seeded(Dice):
    """Choices by chance, remembered in ``made``."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.made: list[int] = []

    def below(self, bound: int) -> int:
        """A number from 0 to ``bound - 1``."""
        self.made.append(self._random.randrange(bound))
        return self.made[-1]


class Replayed(Dice):
    """The choices of a list; after its end always the simplest."""

    def __init__(self, choices: Sequence[int]) -> None:
        self._choices = iter(choices)
        self.made: list[int] = []

    def below(self, bound: int) -> int:
        """A number from 0 to ``bound - 1``."""
        self.made.append(min(next(self._choices, 0), bound - 1))
        return self.made[-1]


class Chunk(Dice):
    """Choices by chance from a few bytes that hypothesis drew: it need not draw each choice.

    The last byte says after how many choices only the simplest follow; with zeros they all do.
    """

    SIZE = 8

    def __init__(self, drawn: bytes) -> None:
        self._random = random.Random(drawn[:-1])
        self._left = 10_000 if drawn[-1] > 96 else drawn[-1]

    def below(self, bound: int) -> int:
        """A number from 0 to ``bound - 1``."""
        self._left -= 1
        return self._random.randrange(bound) if self._left >= 0 else 0
