"""What each part brings to fetching an intent's tool with all that it needs.

Run:  python experiments/003-dependency-closure/closures.py --data FOLDER [--train-only]

FOLDER has tools, workflows and dependencies (ToolLinkOS in the form of docs/reference/datasets.md).
With ``--train-only`` the other splits are not read: that is how constants were chosen.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pml.evaluation import main_tool, needs
from pml.evaluation.dataset import Dataset, Workflow
from pml.evaluation.fetching import Fetching
from pml.evaluation.loading import load
from pml.evaluation.measured import Mean, Measured
from pml.evaluation.methods.closure_dr_dsp import by_chance, by_known, to_first
from pml.evaluation.questions import Closure, ClosureQuestion
from pml.evaluation.resampling import Resamples, drawn_values, interval
from pml.evaluation.task import Problem
from pml.evaluation.tasks.closure import TASK

Logits = main_tool.Logits
Parts = tuple[Logits, Fetching, Sequence[str], Sequence[int]]
"""Of intents that may know the same past: logits of tools, hyperpaths, ids of tools, cases."""


def parts(
    question: ClosureQuestion, *, tool: str, need: str, right: Sequence[str]
) -> Iterator[Parts]:
    """What the methods are made of.

    Args:
        question: What is asked.
        tool: ``text``, ``learned``, or ``told``: the right one is known.
        need: ``declared`` or ``learned``.
        right: The right tools.
    """
    tools = main_tool.Tools(question.tools)
    ids = [one.id for one in question.tools]
    for past, cases in by_known(question):
        chooser = main_tool.learned(tools, past) if tool == "learned" else main_tool.by_text(tools)
        assert chooser is not None
        logits = chooser([question.intents[case] for case in cases])
        if tool == "told":
            logits = np.full(logits.shape, -np.inf)
            logits[range(len(cases)), [tools.places[right[case]] for case in cases]] = 0
        declared, learned = needs.declared, needs.learned
        dependencies = question.dependencies
        needed = declared(dependencies) if need == "declared" else learned(dependencies, past)
        yield logits, Fetching(ids, needed), ids, cases


Rank = Callable[[Logits, Sequence[str], Fetching], Iterator[Closure]]


def shown(found: Measured, name: str) -> str:
    """A mean and its interval, drawn by main tool."""
    metric = found.metrics[name]
    assert isinstance(metric, Mean)
    draws = Resamples(found.groups, np.random.default_rng(0))
    between = interval(drawn_values([metric], draws)[:, 0])
    assert between is not None
    return f"{metric.values.mean():.3f} ({between.low:.3f} to {between.high:.3f})"


def study(
    problem: Problem[ClosureQuestion, Sequence[Closure]], workflows: Sequence[Workflow]
) -> None:
    """Print a row per combination."""
    right = [workflow.main_tool or "" for workflow in workflows]
    print(f"\n{problem.label}: {len(right)} intents")
    print("| tool | needs | ranking | right tool | mAP@10 (95 %) | exact set (95 %) |")
    print("|---|---|---|---|---|---|")
    for tool in ("text", "learned", "told"):
        for need in ("declared", "learned"):
            found = list(parts(problem.question, tool=tool, need=need, right=right))
            first = {
                case: ids[int(row.argmax())]
                for logits, _, ids, cases in found
                for case, row in zip(cases, logits, strict=True)
            }
            share = np.mean([first[case] == one for case, one in enumerate(right)])
            rankings: list[tuple[str, Rank]] = [("path", to_first)]
            if tool == "learned":
                rankings.append(("chance", by_chance))
            for name, rank in rankings:
                measured = problem.judge(_answers(found, rank))
                figures = [shown(measured, metric) for metric in ("mAP10", "exact_set")]
                print(f"| {tool} | {need} | {name} | {share:.3f} | {' | '.join(figures)} |")


def _answers(found: Sequence[Parts], rank: Rank) -> list[Closure]:
    answers = {
        case: closure
        for logits, fetching, ids, cases in found
        for case, closure in zip(cases, rank(logits, ids, fetching), strict=True)
    }
    return [answers[case] for case in range(len(answers))]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--train-only", action="store_true")
    chosen = parser.parse_args()
    dataset: Dataset = load(chosen.data).dataset
    if chosen.train_only:
        dataset = replace(dataset, workflows=dataset.split("train"))
    for problem in TASK.problems(dataset):
        every = dataset.workflows
        tested = [one for one in every if one.split.startswith("test")]
        study(problem, every if problem.label == "all" else tested)


if __name__ == "__main__":
    main()
