"""A trained SHGAT as arrays: all that serving needs of a training, without torch (LE-7).

Whoever trained it says what it was trained on: parameters belong to a graph, to an encoder and to
feature columns, and mean nothing with others.  `pml.models.model_file` turns the record into bytes
and back; `pml.models.scorer` scores with it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Int64

from pml.models.config import ShgatConfig, parameter_shapes
from pml.models.hypergraph import Hypergraph
from pml.models.trained_ids import TrainedIds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ExportedShgat:
    """A trained model.

    Invariant: the arrays are those of `parameter_shapes`, finite, with deviations above 0; the
    graph is one that `pml.models.hypergraph.hypergraph` could have made; nodes with an id
    embedding are in it; the gate judges tasks of the model.

    Raises:
        ValueError: it is not so; says what was expected and what was found.
    """

    config: ShgatConfig
    parameters: Mapping[str, np.ndarray]
    """By the names of `parameter_shapes`, all float32."""
    graph: Hypergraph
    """What it was trained on."""
    trained: TrainedIds
    """Whose rows those of ``id_embedding.weight`` are."""
    encoder: str
    """Name of the encoder of all vectors."""
    data_hash: str
    """SHA-256 in hex of the traces or the data set that it was trained on."""
    seed: int
    pml_version: str
    """Which PML trained it."""
    gate: Mapping[str, bool] = field(default_factory=dict)
    """By task, whether it beat the fallback on held-back queries; a task not asked is absent."""
    fallbacks: Mapping[str, str] = field(default_factory=dict)
    """By task, the name of the simple method that it was compared with, and that serves where the
    gate does not let the model; a task without examples is absent."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """What was measured on held-back queries, for people to read."""

    def __post_init__(self) -> None:
        fault = next(_faults(self), None)
        if fault is not None:
            raise ValueError(fault)


def _faults(model: ExportedShgat) -> Iterator[str]:
    yield from _graph_faults(model.graph)
    yield from _trained_faults("tool", model.trained.tools, model.graph.tools)
    yield from _trained_faults("capability", model.trained.capabilities, model.graph.capabilities)
    yield from _array_faults(model)
    for task in sorted(model.gate.keys() - set(model.config.tasks)):
        yield f"expected the gate to judge {', '.join(model.config.tasks)}, found {task!r}"
    for task in sorted(model.fallbacks.keys() - set(model.config.tasks)):
        yield f"expected fallbacks of {', '.join(model.config.tasks)}, found {task!r}"
    for name, value in model.metrics.items():
        if not np.isfinite(value):
            yield f"expected metric {name!r} to be a finite number, found {value}"


def _trained_faults(kind: str, trained: tuple[str, ...], known: tuple[str, ...]) -> Iterator[str]:
    for key in sorted(set(trained) - set(known)):
        yield f"expected trained nodes to be in the graph, found {kind} {key!r} that is not"


def _array_faults(model: ExportedShgat) -> Iterator[str]:
    shapes = parameter_shapes(model.config, trained_nodes=len(model.trained))
    for name in sorted(shapes.keys() - model.parameters.keys()):
        yield f"expected an array {name!r}, found none"
    for name in sorted(model.parameters.keys() - shapes.keys()):
        yield f"expected only arrays of this configuration, found {name!r} too"
    for name, shape in shapes.items():
        array = model.parameters[name]
        if array.shape != shape or array.dtype != np.float32:
            found = f"{array.shape} of {array.dtype}"
            yield f"expected array {name!r} of shape {shape} of float32, found {found}"
        if not np.isfinite(array).all():
            yield f"expected finite numbers, found NaN or infinity in array {name!r}"
        if name.startswith("standardise.") and name.endswith(".deviation") and array.min() <= 0:
            yield f"expected deviations above 0, found {array.min()} in array {name!r}"


def _graph_faults(graph: Hypergraph) -> Iterator[str]:
    """What keeps a graph from being one: ids, the ranges of pairs, their order, levels."""
    if not graph.levels:
        yield "expected at least the level of tools, found none"
        return
    for kind, ids in (("tool", graph.tools), ("capability", graph.capabilities)):
        if len(set(ids)) != len(ids):
            yield f"expected each {kind} of the graph once, found one twice"
    if len(graph.members):
        yield from _pair_faults(graph, graph.members, graph.containers)
    elif any(graph.levels[2:]):
        yield "expected members in capabilities above level 1, found none"


def _pair_faults(
    graph: Hypergraph, members: Int64[np.ndarray, " pairs"], containers: Int64[np.ndarray, " pairs"]
) -> Iterator[str]:
    lowest, highest = min(members.min(), containers.min()), max(members.max(), containers.max())
    if lowest < 0 or highest >= graph.nodes:
        yield f"expected numbers of {graph.nodes} nodes in pairs, found {lowest} to {highest}"
        return
    steps = np.diff(containers), np.diff(members)
    if not ((steps[0] > 0) | ((steps[0] == 0) & (steps[1] > 0))).all():
        yield "expected pairs in order, each once, found others"
    level = np.repeat(np.arange(len(graph.levels)), [len(ids) for ids in graph.levels])
    found = (level > 0).astype(np.int64)
    np.maximum.at(found, containers, level[members] + 1)
    if (found != level).any():
        yield "expected each node on the level above its highest member, found another"
