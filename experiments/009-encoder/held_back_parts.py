"""How good an encoder is on questions: alone, and added to words."""

from collections.abc import Mapping

import numpy as np
from asked_sets import Asked

from pml.discovery.ports import Encoder
from pml.evaluation.fusing import fused
from pml.evaluation.ranking import gold_ranks, ndcg
from pml.evaluation.retrieval import Texts, relative


def value(asked: Asked, scores: np.ndarray) -> float:
    """Mean nDCG@10."""
    ranks = gold_ranks(np.asarray(scores, np.float32), asked.gold)
    return float(np.mean([ndcg(10)(one) for one in ranks]))


def judged(asked: Asked, encoder: Encoder) -> Mapping[str, float]:
    """Words, the encoder, and both: by reciprocal ranks, and as a sum of relative scores."""
    documents = [f"{tool.name} {tool.name} {tool.description}" for tool in asked.tools]
    said = Texts(documents).bm25(asked.intents)
    tools = encoder.encode([tool.served for tool in asked.tools])
    near = np.maximum(encoder.encode(asked.intents) @ tools.T, 0)
    return {
        "bm25": value(asked, said),
        "dense": value(asked, near),
        "rrf": value(asked, fused([said, near])),
        "sum": value(asked, relative(said) + relative(near)),
    }
