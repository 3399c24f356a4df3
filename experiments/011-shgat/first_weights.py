"""The weights with which a catalogue without past intents begins (`START` of shgat_ranking).

Conditional logit of what texts say on the training splits of the permissively licensed sets that
have requests; each weight is fitted on all sets, and judged on each set when fitted on the others.

Run:  .venv/bin/python experiments/011-shgat/first_weights.py FOLDER
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from pml.discovery.evidence import TEXT_COLUMNS
from pml.evaluation.conditional_logit import fitted
from pml.evaluation.loading import load
from pml.evaluation.shgat_folds import COLUMNS, Folds
from pml.evaluation.shgat_ranking import encoder_for
from pml.evaluation.shgat_views import Source
from pml.learning.gate import ndcg
from pml.models.inputs import RankingTask

SETS = ("sealtools", "toollinkos", "bfcl_multiturn")
CASES, CANDIDATES = 400, 100
PLACES = [COLUMNS.index(name) for name in TEXT_COLUMNS]


def evidence(folder: Path) -> tuple[np.ndarray, list[np.ndarray]]:
    """Of text alone, (cases, tools, columns), and the tools that served."""
    dataset = load(folder).dataset
    past = dataset.split("train")
    rows = np.random.default_rng(0).permutation(len(past))[:CASES]
    source = Source(replace(dataset, workflows=()), encoder_for(dataset, 0))
    view = source.view([])
    asked = [past[row] for row in rows]
    queries = (
        Folds(source).evidence(view, []).queries(RankingTask.TOOLS, [one.intent for one in asked])
    )
    place = {key: at for at, key in enumerate(view.graph.tools)}
    gold = [
        np.array(sorted({place[n] for n in ([one.main_tool] if one.main_tool else one.nodes)}))
        for one in asked
    ]
    return queries.evidence[:, :, PLACES], gold


def choices(said: np.ndarray, gold: list[np.ndarray]) -> np.ndarray:
    """One that served, then the best others by the sum of what is said."""
    rng = np.random.default_rng(0)
    rows = []
    for row, served in zip(said, gold, strict=True):
        order = [at for at in np.argsort(-row.sum(axis=1)) if at not in set(served.tolist())]
        rows.append(row[[rng.choice(served), *order[:CANDIDATES]]])
    return np.array(rows, np.float64)


def main() -> None:
    """Print weights of all sets, and the figure of each set by those of the others."""
    folder = Path(sys.argv[1])
    sets = {name: evidence(folder / name) for name in SETS}
    features = {name: choices(*one) for name, one in sets.items()}
    for name, (said, gold) in sets.items():
        others = np.concatenate([features[one] for one in SETS if one != name])
        weights = fitted(others, np.zeros(len(others), np.int64))
        print(name, f"{np.nanmean(ndcg(said @ weights, gold)):.3f}")
    every = np.concatenate(list(features.values()))
    weights = fitted(every, np.zeros(len(every), np.int64))
    print({name: round(float(one), 2) for name, one in zip(TEXT_COLUMNS, weights, strict=True)})


if __name__ == "__main__":
    main()
