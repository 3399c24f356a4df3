"""Texts as bags of tokens for `torch.nn.functional.embedding_bag`: pure arrays, cut by batch."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor
from torch.nn import functional


class Bags:
    """Tokens of many texts in one array.

    Invariant: text ``i`` has the tokens ``flat[starts[i]:starts[i + 1]]``.
    """

    def __init__(self, tokens: Sequence[Sequence[int]]) -> None:
        self._flat = np.array([one for ids in tokens for one in ids], np.int64)
        self._starts = np.cumsum([0, *(len(ids) for ids in tokens)])

    def __len__(self) -> int:
        return len(self._starts) - 1

    def take(
        self,
        texts: Int64[np.ndarray, " texts"],
        *,
        dropout: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Tokens of these texts, and where each text begins.

        Args:
            texts: Their numbers.
            dropout: Share of tokens left out, drawn by ``rng``.
            rng: Needed where there is dropout.
        """
        lengths = self._starts[texts + 1] - self._starts[texts]
        starts = np.cumsum(lengths) - lengths
        places = np.arange(lengths.sum()) - np.repeat(starts - self._starts[texts], lengths)
        flat = self._flat[places]
        if dropout and rng is not None:
            kept = rng.random(len(flat)) >= dropout
            kept[starts[lengths > 0]] = True  # a text keeps one token at least
            before = np.concatenate([[0], np.cumsum(kept)])
            flat, starts = flat[kept], before[starts]
        return torch.from_numpy(flat), torch.from_numpy(starts)


def embed(rows: Tensor, bag: tuple[Tensor, Tensor]) -> Tensor:
    """Sums of the rows of each text's tokens."""
    return functional.embedding_bag(bag[0], rows, bag[1], mode="sum")
