"""Next tool and plans by what is learned, beside the simple methods, with intervals.

Run: python experiments/012-next-and-plans/next_and_plans.py --data FOLDER [SET/TASK/LABEL ...]

With ``--quarter`` 0 to 3 nothing is read but training: a quarter of its intents is the split
``test``, the others teach.  With ``--lost`` 0 to 2 it is the requests for a third of the used
servers; with ``--dev`` it is that split.  So settings are compared.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from pml.domain.capability import normalised_intent
from pml.evaluation.dataset import TRAIN, Dataset
from pml.evaluation.loading import load
from pml.evaluation.measuring import Round
from pml.evaluation.registry import find

ASKED = ("ultratool/next/test", "n8n/next/test", "sgd/next/seen", "ultratool/plans/test")
METHODS = {
    "next": (
        "markov1",
        "ppm3",
        "markov1 x intent tfidf",
        "intent tfidf unused tools",
        "pool",
        "shgat evidence",
        "shgat",
    ),
    "plans": (
        "kNN-1 plan copy",
        "bm25 top k=2",
        "bm25+kNN20 top voted k",
        "bm25+kNN20 top oracle k",
        "bm25 dr-dsp",
        "kNN20 consensus",
        "shgat consensus",
    ),
}


def quartered(dataset: Dataset, quarter: int) -> Dataset:
    """Training alone, a quarter of its intents held out as ``test``."""
    train = dataset.split(TRAIN)
    intents = list(dict.fromkeys(normalised_intent(each.intent) for each in train))
    order = np.random.default_rng(7).permutation(len(intents))
    held = {intents[at] for at in order[quarter::4]}
    workflows = [
        replace(each, split="test") if normalised_intent(each.intent) in held else each
        for each in train
    ]
    return replace(dataset, workflows=tuple(workflows))


def lost(dataset: Dataset, part: int) -> Dataset:
    """Training alone, with all that calls a third of the used servers as ``test``.

    What is left knows neither those servers nor an intent that is asked.
    """
    train = dataset.split(TRAIN)
    server = {tool.id: tool.server for tool in dataset.tools}
    used = sorted({server[tool] for each in train for tool in each.nodes if tool in server})
    gone = set(np.random.default_rng(0).permutation(used)[part::3].tolist())
    held = {
        normalised_intent(each.intent)
        for each in train
        if any(server.get(tool) in gone for tool in each.nodes)
    }
    workflows = [
        replace(each, split="test") if normalised_intent(each.intent) in held else each
        for each in train
    ]
    return replace(dataset, workflows=tuple(workflows))


def of_dev(dataset: Dataset) -> Dataset:
    """Training, and the split ``dev`` as ``test``."""
    asked = (replace(each, split="test") for each in dataset.split("dev"))
    return replace(dataset, workflows=(*dataset.split(TRAIN), *asked))


def main() -> None:
    """Print a row per method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--quarter", type=int, choices=range(4))
    chosen.add_argument("--lost", type=int, choices=range(3))
    chosen.add_argument("--dev", action="store_true")
    parser.add_argument("asked", nargs="*", default=list(ASKED))
    given = parser.parse_args()
    registry = find()
    for asked in given.asked:
        name, task_name, label = asked.split("/")
        task = next(one for one in registry.tasks if one.name == task_name)
        dataset = load(given.data / name).dataset
        if given.quarter is not None:
            dataset = quartered(dataset, given.quarter)
        elif given.lost is not None:
            dataset = lost(dataset, given.lost)
        elif given.dev:
            dataset = of_dev(dataset)
        problems = task.problems(dataset)
        problem = next(one for one in problems if one.label == label)
        round_ = Round(name, task, problem, seed=0)
        for method in registry.of_task(task_name):
            if method.name in METHODS[task_name]:
                round_.ask(method)
        result = round_.result()
        for row in () if result is None else result.methods:
            figures = " ".join(
                f"{m.name} {m.value:.3f} [{m.low:.3f}, {m.high:.3f}]"
                for m in row.metrics
                if m.value is not None and m.low is not None and m.high is not None
            )
            against = row.against
            told = (
                ""
                if against is None
                else (f" {against.difference:+.3f} to {against.other}, p {against.p_holm:.4f}")
            )
            print(f"{asked} {row.method}: {row.error or figures}{told} ({row.seconds:.0f} s)")


if __name__ == "__main__":
    main()
