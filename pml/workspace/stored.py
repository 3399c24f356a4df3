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
from pml.learning.folds import HeldQueries, LostFolds, Targets, TaskExamples, TrainingFold, View
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import NodeInputs, Queries, RankingTask
from pml.workspace.files import write_json
from pml.workspace.folds import FALLBACKS

FULL, FOLD = "full.npz", "fold-{number}.npz"
LOST, ASKED, EXPECTED = "lost-{number}", "asked.npz", "expected.json"
"""A folder for each part of the servers that is lost, beside its folds."""


def write_folds(
    folder: Path, folds: Sequence[TrainingFold], full: View, lost: Sequence[LostFolds] = ()
) -> None:
    """Write all of them into a new folder."""
    folder.mkdir(parents=True)
    np.savez_compressed(folder / FULL, **_of_view(full))
    _write(folder, folds)
    for number, one in enumerate(lost):
        inner = folder / LOST.format(number=number)
        inner.mkdir()
        _write(inner, one.folds)
        np.savez_compressed(inner / ASKED, **_of_fold(one.asked))
        write_json(inner / EXPECTED, {"share": one.share, "needing": dict(one.needing)})


def _write(folder: Path, folds: Sequence[TrainingFold]) -> None:
    for number, fold in enumerate(folds):
        np.savez_compressed(folder / FOLD.format(number=number), **_of_fold(fold))


def read_folds(folder: Path) -> tuple[tuple[TrainingFold, ...], View]:
    """Read what `write_folds` wrote.

    Raises:
        ConfigError: a file is missing or damaged.
    """
    return _read(folder), _view(_arrays(folder / FULL))


def read_lost(folder: Path) -> tuple[LostFolds, ...]:
    """Read what `write_folds` wrote of lost servers.

    Raises:
        ConfigError: a file is missing or damaged.
    """
    return tuple(_lost(path) for path in _numbered(folder, LOST))


def _lost(folder: Path) -> LostFolds:
    path = folder / EXPECTED
    try:
        expected = json.loads(path.read_text())
        needing, share = dict(expected["needing"]), float(expected["share"])
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise _damaged(path, exc) from exc
    asked = _fold(_arrays(folder / ASKED))
    return LostFolds(folds=_read(folder), asked=asked, needing=needing, share=share)


def _read(folder: Path) -> tuple[TrainingFold, ...]:
    return tuple(_fold(_arrays(path)) for path in _numbered(folder, FOLD))


def _numbered(folder: Path, name: str) -> list[Path]:
    """Paths in the order of their numbers."""
    paths = folder.glob(name.format(number="*"))
    return sorted(paths, key=lambda path: int(path.stem.partition("-")[2]))


def _arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as found:
            return dict(found)
    except (OSError, ValueError, EOFError, BadZipFile) as exc:
        raise _damaged(path, exc) from exc


def _damaged(path: Path, exc: Exception) -> ConfigError:
    message = f"expected what the stage `features` wrote ({exc}): `dvc repro features`"
    return ConfigError(str(path), message)


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


def _of_fold(fold: TrainingFold) -> dict[str, Any]:
    arrays = _of_view(fold.view)
    for task, examples in fold.tasks.items():
        arrays |= {f"{task}.{name}": values for name, values in _of_task(examples).items()}
    return arrays


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
