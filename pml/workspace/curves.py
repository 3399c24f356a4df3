"""How a training went, epoch by epoch, as a plot and as rows."""

import io
from collections.abc import Sequence

from matplotlib.figure import Figure

from pml.evaluation.style import BLUE, COLOURS, VERMILION, label_line, styled
from pml.learning.training_config import Epoch

_SIZE_IN = (7.2, 3.2)


def curves_svg(history: Sequence[Epoch]) -> str:
    """Losses on the left, rankings of held-back examples on the right; the same for the same."""
    with styled():
        figure = Figure(figsize=_SIZE_IN, layout="constrained")
        losses, rankings = figure.subplots(1, 2)
        numbers = [epoch.number for epoch in history]
        losses.set(title="Loss", xlabel="epoch")
        rankings.set(title="nDCG@10, held back", xlabel="epoch")
        own = [epoch.loss for epoch in history]
        held_back = [epoch.held_back_loss for epoch in history]
        for name, values, colour in (
            ("training", own, BLUE),
            ("held back", held_back, VERMILION),
        ):
            losses.plot(numbers, values, color=colour)
            if numbers:
                label_line(losses, name, x=numbers[-1], y=values[-1], colour=colour)
        tasks = dict.fromkeys(task for epoch in history for task in epoch.held_back_ndcg)
        for task, colour in zip(tasks, COLOURS, strict=False):
            told = [e for e in history if task in e.held_back_ndcg]
            values = [e.held_back_ndcg[task] for e in told]
            rankings.plot([e.number for e in told], values, color=colour)
            label_line(rankings, task, x=told[-1].number, y=values[-1], colour=colour)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    return written.getvalue()


def curve_rows(history: Sequence[Epoch]) -> list[dict[str, float]]:
    """A row per epoch, for `dvc plots`."""
    return [
        {
            "epoch": epoch.number,
            "loss": epoch.loss,
            "held_back_loss": epoch.held_back_loss,
            **{f"held_back_{task}": value for task, value in epoch.held_back_ndcg.items()},
        }
        for epoch in history
    ]
