"""Prioritised replay (LE-3): learn more often from what was predicted badly.

A buffer holds keys (trace ids) and how badly each was predicted the last time.  A key is drawn
with probability P(i) = w_i / sum(w), where w_i = (|error_i| + epsilon)^alpha.  Learning from such
draws as they come learns of another world, in which surprises are frequent; the importance weights
(N P(i))^-beta undo that, wholly where beta is 1.  After the step the new errors come back.

What is left without them can be said exactly: a predicted chance whose loss has the gradient
"prediction - outcome" comes to rest where its log odds are 1 / (1 + alpha (1 - beta)) of the true
ones (`docs/explanation/replay.md`).

Reference: T. Schaul, J. Quan, I. Antonoglou, D. Silver, "Prioritized Experience Replay", ICLR
2016, arXiv:1511.05952, section 3.3 (proportional variant), 3.4 (weights), algorithm 1.  Where the
paper leaves a choice: weights are divided by the largest of the whole buffer, not of the batch,
so that a key's weight does not depend on what was drawn beside it (as torchrl does); the
maximal priority is the largest so far and at least 1, that of a path never taken (LE-1).
Where we differ: keys can be removed, since retention deletes traces.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Float64, Int64

from pml.learning.sum_tree import Pyramid, SumTree

Key = TypeVar("Key", str, int)

START_BETA = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayConfig:
    """What a replay buffer is like.

    Raises:
        ValueError: the capacity is not positive, alpha is outside [0, 1] or epsilon outside (0, 1].
    """

    capacity: int
    alpha: float = 0.6
    """How much the errors matter: 0 draws uniformly, 1 in proportion to them."""
    epsilon: float = 0.01
    """Added to each error, so that what is predicted well is still drawn now and then.  With errors
    of probabilities and alpha 0.6 the largest weight is then 16 times the least, and so are the
    importance weights.  With 1e-8, as others have it, one key without error makes the
    importance weights of all others vanish."""

    def __post_init__(self) -> None:
        if self.capacity < 1 or not 0 <= self.alpha <= 1 or not 0 < self.epsilon <= 1:
            msg = f"expected capacity >= 1, alpha in [0, 1] and epsilon in (0, 1], got {self}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch(Generic[Key]):
    """Keys that were drawn, with replacement."""

    keys: Sequence[Key]
    probabilities: Float64[np.ndarray, " batch"]
    """P(i) of one draw."""
    weights: Float64[np.ndarray, " batch"]
    """Importance weights, for the loss: at most 1."""


class ReplayBuffer(Generic[Key]):
    """Keys with the error of their last prediction; when it is full, the oldest makes room.

    Invariant: ``_slots`` has each key once, in the order in which they came, and ``_keys`` is its
    inverse; a slot without a key has weight 0.  ``largest_error`` is at least 1 and at least
    every error so far.
    """

    def __init__(self, config: ReplayConfig, *, largest_error: float = 1.0) -> None:
        self.config = config
        self.largest_error = largest_error
        self._slots: OrderedDict[Key, int] = OrderedDict()
        self._keys: dict[int, Key] = {}
        self._freed: list[int] = []
        self._fresh = iter(range(config.capacity))
        self._errors = np.zeros(config.capacity)
        self._sums = SumTree(config.capacity)
        self._least = Pyramid(config.capacity, np.minimum, np.inf)

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, key: Key) -> bool:
        return key in self._slots

    @property
    def keys(self) -> tuple[Key, ...]:
        """The oldest first."""
        return tuple(self._slots)

    @property
    def errors(self) -> Float64[np.ndarray, " keys"]:
        """Of the keys, in their order."""
        return np.take(self._errors, self._places())

    @property
    def probabilities(self) -> Float64[np.ndarray, " keys"]:
        """P(i) of the keys, in their order."""
        weights = np.take(self._sums.weights, self._places())
        return weights / self._sums.total if len(weights) else weights

    def add(
        self, keys: Sequence[Key], errors: Float64[np.ndarray, " keys"] | None = None
    ) -> tuple[Key, ...]:
        """Put keys in; returns those that had to make room, the earliest first.

        Without errors, the keys get the largest error so far, so that each is learned from soon.
        A key that is there already keeps its age and gets the error.

        Raises:
            ValueError: an error is not finite, or there is not one per key.  Nothing has changed.
        """
        if errors is None:
            errors = np.full(len(keys), self.largest_error)
        sizes = self._sizes(errors, len(keys))
        gone = [old for key in keys for old in self._place(key)]
        self._write(keys, sizes)
        return tuple(gone)

    def draw(self, n: int, *, beta: float, rng: np.random.Generator) -> Batch[Key]:
        """Draw ``n`` keys, one from each of ``n`` equal slices of the total weight.

        Raises:
            EmptyReplayError: the buffer is empty.
            ValueError: beta is outside [0, 1].
        """
        if not 0 <= beta <= 1:
            msg = f"beta must lie in [0, 1], got {beta}"
            raise ValueError(msg)
        slots = self._sums.draw(n, rng)
        weights = self._sums.weights[slots]
        return Batch(
            keys=[self._keys[slot] for slot in slots.tolist()],
            probabilities=weights / self._sums.total,
            # (N P(i))^-beta over that of the least probable: N and the total cancel out.
            weights=(weights / self._least.root) ** -beta,
        )

    def refresh(self, keys: Sequence[Key], errors: Float64[np.ndarray, " keys"]) -> None:
        """Take the errors that training has just found; of a repeated key the last one counts.

        Keys that are gone meanwhile are passed over.

        Raises:
            ValueError: an error is not finite, or there is not one per key.  Nothing has changed.
        """
        self._write(keys, self._sizes(errors, len(keys)))

    def discard(self, keys: Iterable[Key]) -> int:
        """Take keys out, such as traces that retention deleted; returns how many were there."""
        freed = [slot for key in keys if (slot := self._slots.pop(key, None)) is not None]
        for slot in freed:
            del self._keys[slot]
        self._freed += freed
        slots = np.array(freed, dtype=np.int64)
        self._sums.update(slots, np.zeros(len(freed)))
        self._least.set(slots, np.full(len(freed), np.inf))
        return len(freed)

    def _places(self) -> Int64[np.ndarray, " keys"]:
        return np.fromiter(self._slots.values(), dtype=np.int64, count=len(self._slots))

    def _place(self, key: Key) -> tuple[Key, ...]:
        """Give the key a slot; returns the key that had to leave it, if one had to."""
        if key in self._slots:
            return ()
        gone: tuple[Key, ...] = ()
        slot = self._freed.pop() if self._freed else next(self._fresh, None)
        if slot is None:
            oldest, slot = self._slots.popitem(last=False)
            gone = (oldest,)
        self._slots[key] = slot
        self._keys[slot] = key
        return gone

    def _sizes(
        self, errors: Float64[np.ndarray, " keys"], count: int
    ) -> Float64[np.ndarray, " keys"]:
        """Of the errors, without sign."""
        sizes: Float64[np.ndarray, " keys"] = np.abs(errors)
        if sizes.shape != (count,) or not np.all(sizes <= self._sums.largest):
            msg = f"expected {count} errors up to {self._sums.largest:g}"
            raise ValueError(msg)
        return sizes

    def _write(self, keys: Sequence[Key], sizes: Float64[np.ndarray, " keys"]) -> None:
        """Set the errors of the keys that are here."""
        slots = np.array([self._slots.get(key, -1) for key in keys], dtype=np.int64)
        here = slots >= 0
        slots, sizes = slots[here], sizes[here]
        weights = (sizes + self.config.epsilon) ** self.config.alpha
        self._sums.update(slots, weights)
        self._least.set(slots, weights)
        self._errors[slots] = sizes
        self.largest_error = float(max(self.largest_error, sizes.max(initial=0.0)))


def annealed_beta(step: int, steps: int) -> float:
    """How much importance weights correct at a step of training: from 0.4 to 1 at the last one.

    The bias matters least in the beginning, when everything changes anyway (section 3.4).
    """
    return START_BETA + (1 - START_BETA) * min(1.0, step / max(1, steps - 1))
