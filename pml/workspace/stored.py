"""Folds as files, so that training and tuning begin where the stage `features` ended.

One ``.npz`` file per fold: arrays and JSON texts, no pickles.  Lists of arrays of different
lengths are one flat array with the places at which each begins.
"""

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from pml.errors import ConfigError
from pml.learning.folds import HeldQueries, Targets, TaskExamples, TrainingFold, View
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import NodeInputs, Queries, RankingTask
from pml.workspace.folds import FALLBACKS

FULL, FOLD = "full.npz", "fold-{number}.npz"


def write_folds(folder: Path, folds: Sequence[TrainingFold], full: View) -> None:
    """Write all of them into a new folder."""
    folder.mkdir(parents=True)
    np.savez_compressed(folder / FULL, **_of_view(full))
    for number, fold in enumerate(folds):
        arrays = _of_view(fold.view)
        for task, examples in fold.tasks.items():
            arrays |= {f"{task}.{name}": values for name, values in _of_task(examples).items()}
        np.savez_compressed(folder / FOLD.format(number=number), **arrays)


def read_folds(folder: Path) -> tuple[tuple[TrainingFold, ...], View]:
    """Read what `write_folds` wrote.

    Raises:
        ConfigError: a file is missing or damaged.
    """
    paths = sorted(folder.glob(FOLD.format(number="*")), key=lambda path: int(path.stem[5:]))
    return tuple(_fold(_arrays(path)) for path in paths), _view(_arrays(folder / FULL))


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as found:
            return dict(found)
    except (OSError, ValueError, EOFError, BadZipFile) as exc:
        message = f"expected arrays that the stage `features` wrote ({exc}): `dvc repro features`"
        raise ConfigError(str(path), message) from exc


def _of_view(view: View) -> dict[str, Any]:
    return {
        "levels": json.dumps(view.graph.levels),
        "members": view.graph.members,
        "containers": view.graph.containers,
        "vectors": view.inputs.vectors,
        "tool_features": view.inputs.tool_features,
        "capability_features": view.inputs.capability_features,
    }


def _view(arrays: Mapping[str, np.ndarray]) -> View:
    levels = tuple(tuple(level) for level in json.loads(str(arrays["levels"])))
    return View(
        graph=Hypergraph(levels=levels, members=arrays["members"], containers=arrays["containers"]),
        inputs=NodeInputs(
            vectors=arrays["vectors"],
            tool_features=arrays["tool_features"],
            capability_features=arrays["capability_features"],
        ),
    )


def _of_task(examples: TaskExamples) -> dict[str, Any]:
    queries = examples.queries.take(np.arange(len(examples.queries)))
    targets = examples.targets
    return {
        "vectors": queries.vectors,
        "evidence": queries.evidence,
        "stats": queries.stats,
        **_ragged("prefixes", queries.prefixes),
        **_ragged("positives", targets.positives),
        **_ragged("failed", targets.failed),
        "served": targets.served,
        "weights": targets.weights,
        "sources": json.dumps(targets.sources),
        "groups": targets.groups,
    }


def _fold(arrays: Mapping[str, np.ndarray]) -> TrainingFold:
    tasks = {task: _task(arrays, task) for task in RankingTask if f"{task}.vectors" in arrays}
    return TrainingFold(view=_view(arrays), tasks=tasks)


def _task(arrays: Mapping[str, np.ndarray], task: RankingTask) -> TaskExamples:
    own = {
        name.removeprefix(f"{task}."): values
        for name, values in arrays.items()
        if name.startswith(f"{task}.")
    }
    queries = Queries(
        vectors=own["vectors"],
        evidence=own["evidence"],
        stats=own["stats"],
        prefixes=_lists(own, "prefixes"),
    )
    targets = Targets(
        positives=_lists(own, "positives"),
        failed=_lists(own, "failed"),
        served=own["served"],
        weights=own["weights"],
        sources=tuple(json.loads(str(own["sources"]))),
        groups=own["groups"],
    )
    return TaskExamples(
        queries=HeldQueries(queries=queries), targets=targets, fallbacks=FALLBACKS[task]
    )


def _ragged(name: str, lists: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    lengths = np.array([len(each) for each in lists], dtype=np.int64)
    flat = np.concatenate([np.zeros(0, np.int64), *lists])
    return {f"{name}.flat": flat, f"{name}.lengths": lengths}


def _lists(arrays: Mapping[str, np.ndarray], name: str) -> tuple[np.ndarray, ...]:
    ends = np.cumsum(arrays[f"{name}.lengths"])
    return tuple(np.split(arrays[f"{name}.flat"], ends[:-1])) if len(ends) else ()
