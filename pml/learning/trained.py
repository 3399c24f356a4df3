"""What a training comes to: a model, its calibration, and whether it may serve (LE-5)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from pml.learning.calibration import Calibration, CalibrationReport
from pml.learning.gate import Compared, GateVerdict
from pml.learning.training_config import Epoch
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import RankingTask
from pml.models.shgat import Shgat
from pml.models.trained_ids import TrainedIds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trained:
    """A model, and what is known of it."""

    model: Shgat
    """With its calibration, in evaluation mode."""
    graph: Hypergraph
    """Of the full view."""
    trained: TrainedIds
    history: tuple[Epoch, ...]
    best_epoch: int
    """Whose parameters these are; 0: as training began."""
    calibrations: Mapping[RankingTask, Calibration]
    reports: Mapping[RankingTask, CalibrationReport]
    """On the judging fold; a task without examples there is left out."""
    compared: Mapping[RankingTask, Compared]
    """With the fallbacks on the folds that judged; a task without examples there is left out."""
    verdicts: Mapping[RankingTask, GateVerdict]
    """Of what was compared; a task that is left out falls back."""
    fallbacks: Mapping[RankingTask, str]
    """Names of the simple methods that it was compared with, and that serve where it does not; a
    task without examples is left out."""
    errors: Mapping[str, float]
    """Of the traces, when they were last learned from, for their replay buffer (LE-3)."""

    @property
    def parameters(self) -> dict[str, Float32[np.ndarray, "..."]]:
        """Copies, by the names of `pml.models.config.parameter_shapes`."""
        return {
            name: value.detach().cpu().numpy().astype(np.float32)
            for name, value in self.model.state_dict().items()
        }

    @property
    def gate(self) -> dict[str, bool]:
        """Tasks that the model may serve; the fallback serves what is not named."""
        return {str(task): verdict.passes for task, verdict in self.verdicts.items()}

    @property
    def figures(self) -> dict[str, float]:
        """All figures by name, for whoever keeps them with the model."""
        named: dict[str, float] = {"best_epoch": float(self.best_epoch)}
        for task, verdict in self.verdicts.items():
            named |= {
                f"{task}.ndcg": verdict.model,
                f"{task}.fallback_ndcg": verdict.fallback,
                f"{task}.p": verdict.p,
                f"{task}.intents": float(verdict.intents),
            }
            if verdict.cold_share:
                named[f"{task}.cold_intents"] = float(verdict.cold_intents)
                named[f"{task}.cold_share"] = verdict.cold_share
        for task, told in self.reports.items():
            named |= {
                f"{task}.log_loss": told.log_loss,
                f"{task}.brier": told.brier,
                f"{task}.top_calibration_error": told.top_error,
            }
        return named
