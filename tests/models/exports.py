"""Models as arrays with every parameter at work, without torch."""

import numpy as np

from pml.models.config import ShgatConfig, parameter_shapes
from pml.models.exported import ExportedShgat
from pml.models.hypergraph import Hypergraph
from pml.models.inputs import Queries, RankingTask
from pml.models.scorer import Query, Scorer, Scores
from pml.models.trained_ids import TrainedIds


def parameters_of(config: ShgatConfig, trained: TrainedIds, seed: int = 0) -> dict[str, np.ndarray]:
    """Drawn so that states and scores stay about 1 in size, whatever the widths."""
    rng = np.random.default_rng(seed)

    def drawn(name: str, shape: tuple[int, ...]) -> np.ndarray:
        values = rng.normal(size=shape) / max(shape[-1], 1) ** 0.5
        return np.asarray(np.abs(values) + 0.5 if "deviation" in name else values, np.float32)

    shapes = parameter_shapes(config, trained_nodes=len(trained))
    return {name: drawn(name, shape) for name, shape in shapes.items()}


def exported(
    config: ShgatConfig, graph: Hypergraph, *, trained: TrainedIds | None = None, seed: int = 0
) -> ExportedShgat:
    """Of a training on this graph."""
    trained = TrainedIds.of(graph) if trained is None else trained
    return ExportedShgat(
        config=config,
        parameters=parameters_of(config, trained, seed),
        graph=graph,
        trained=trained,
        encoder="test-encoder",
        data_hash="0" * 64,
        seed=seed,
        pml_version="0.1.0",
        gate={str(task): task is RankingTask.TOOLS for task in config.tasks},
        fallbacks={str(task): "votes" for task in config.tasks},
        metrics={"tools.ndcg@10": 0.9},
    )


def asked(scorer: Scorer, queries: Queries, place: int) -> Query:
    """One of them; prefixes are numbers of the scorer's tools."""
    called = queries.prefixes[place].tolist() if queries.prefixes else []
    return Query(
        vector=queries.vectors[place],
        evidence=queries.evidence[place],
        stats=queries.stats[place],
        called=tuple(scorer.nodes.tools[number] for number in called),
    )


def scores(scorer: Scorer, task: RankingTask, query: Query) -> Scores:
    by_task = {
        RankingTask.TOOLS: scorer.score_all_tools,
        RankingTask.CAPABILITIES: scorer.score_all_capabilities,
        RankingTask.NEXT_TOOL: scorer.predict_next,
    }
    return by_task[task](query)
