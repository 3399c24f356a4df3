"""What the gate said of a model, as its package and commands tell it; without torch."""

from collections.abc import Mapping

from pml.tracking.package import TaskVerdict

METRIC = "nDCG10"


def task_verdicts(
    gate: Mapping[str, bool], figures: Mapping[str, float], fallbacks: Mapping[str, str]
) -> tuple[TaskVerdict, ...]:
    """What the gate said, as an exported model keeps it."""
    return tuple(
        TaskVerdict(
            task=task,
            metric=METRIC,
            model=figures[f"{task}.ndcg"],
            fallback=figures[f"{task}.fallback_ndcg"],
            fallback_name=fallbacks[task],
            intents=round(figures[f"{task}.intents"]),
            p=figures[f"{task}.p"],
            switched_on=passes,
            cold_intents=round(figures.get(f"{task}.cold_intents", 0)),
            cold_share=figures.get(f"{task}.cold_share", 0.0),
        )
        for task, passes in gate.items()
    )
