"""What a score takes from retrievers, and what makes a probability of it."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from pml.models.config import ShgatConfig
from pml.models.inputs import RankingTask


class EvidenceWeights(nn.Module):
    """Weights of what retrievers say: fixed ones, plus what the stats of a query add."""

    def __init__(self, config: ShgatConfig, task: RankingTask) -> None:
        super().__init__()
        columns = len(config.evidence_of(task))
        self._task = task
        self.base = nn.Parameter(torch.zeros(columns))  # a
        self.by_stats = nn.Parameter(torch.zeros(columns, len(config.stats)))  # B

    def start(self, weights: Sequence[float]) -> None:
        """Begin with these.

        Raises:
            ValueError: they are not as many as the columns.
        """
        columns = len(self.base)
        if len(weights) != columns:
            msg = f"evidence of {self._task} must start with {columns} weights, got {len(weights)}"
            raise ValueError(msg)
        self.base.copy_(torch.tensor(weights))

    def forward(
        self,
        evidence: Float[Tensor, "queries candidates columns"],
        stats: Float[Tensor, "queries stats"],
    ) -> Float[Tensor, "queries candidates"]:
        """What the evidence adds to the scores."""
        weights = self.base + stats @ self.by_stats.T  # (queries, columns)
        return torch.bmm(evidence, weights.unsqueeze(-1)).squeeze(-1)


class Calibration(nn.Module):
    """Slope, rivalry and intercept by task (`pml.models.config`).

    They are buffers, as they are fitted after training and apart from it.
    """

    def __init__(self, config: ShgatConfig) -> None:
        super().__init__()
        for task in config.tasks:
            self.register_buffer(task.value, torch.tensor([1.0, 0.0, 0.0]))

    def forward(
        self, task: RankingTask, scores: Float[Tensor, "queries candidates"]
    ) -> Float[Tensor, "queries candidates"]:
        """Probabilities; the scores are of all candidates."""
        slope, rivalry, intercept = self.get_buffer(task.value)
        log_partition = torch.logsumexp(scores, dim=1, keepdim=True)
        chances: Tensor = torch.sigmoid(slope * scores + rivalry * log_partition + intercept)
        return chances
