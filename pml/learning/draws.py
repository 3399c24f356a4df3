"""Which traces make up the next batch of a fold: each once per pass, or by last error (LE-3)."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from jaxtyping import Float64

from pml.learning.replay import Batch, ReplayBuffer, ReplayConfig
from pml.learning.training_config import Draws


class Drawer:
    """Draws batches from the traces of one fold.

    Invariant: the buffer holds each trace once, with its last error.
    """

    def __init__(
        self, sources: Sequence[str], errors: Mapping[str, float], *, draws: Draws, batch: int
    ) -> None:
        """Of these traces, with their errors from before where they are known."""
        self._draws, self._batch = draws, batch
        self._buffer: ReplayBuffer[str] = ReplayBuffer(ReplayConfig(capacity=max(1, len(sources))))
        known = [source for source in sources if source in errors]
        self._buffer.add(sources)
        self.refresh(known, np.array([errors[source] for source in known], dtype=np.float64))
        self._queue: Iterator[Batch[str]] = iter(())

    @property
    def batches(self) -> int:
        """Of one pass."""
        return -(-len(self._buffer) // self._batch)

    def draw(self, *, beta: float, rng: np.random.Generator) -> Batch[str]:
        """The next batch; weights are all 1 where draws are uniform."""
        if self._draws is Draws.PRIORITISED:
            return self._buffer.draw(min(self._batch, len(self._buffer)), beta=beta, rng=rng)
        drawn = next(self._queue, None)
        if drawn is None:
            self._queue = self._shuffled(rng)
            drawn = next(self._queue)
        return drawn

    def refresh(self, sources: Sequence[str], errors: Float64[np.ndarray, " sources"]) -> None:
        """Take the errors that a step has just found."""
        self._buffer.refresh(sources, errors)

    def _shuffled(self, rng: np.random.Generator) -> Iterator[Batch[str]]:
        """One pass, in batches that differ in size by at most one."""
        keys = self._buffer.keys
        order = rng.permutation(len(keys))
        for part in np.array_split(order, self.batches):
            yield Batch(
                keys=[keys[at] for at in part.tolist()],
                probabilities=np.full(len(part), 1 / len(keys)),
                weights=np.ones(len(part)),
            )
