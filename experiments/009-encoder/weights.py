"""What should past intents and meanings weigh in the served ranking?

Run:  .venv/bin/python experiments/009-encoder/weights.py --data FOLDER
A quarter of each training split is asked, the rest is past; no test split is read.  Rules are
weights of texts, votes and meanings; ``l`` is the likeness of the nearest past intents.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from asked_sets import held

from pml.discovery.fusion import fuse
from pml.discovery.index import Index, Kind
from pml.embedding.static import default_encoder
from pml.evaluation.dataset import Dataset, Workflow
from pml.evaluation.loading import load
from pml.evaluation.questions import Candidate
from pml.evaluation.ranking import gold_ranks, ndcg
from pml.evaluation.served import capability_entry, index_of, tool_entry

SETS = ("ultratool", "n8n", "toollens", "sealtools", "toollinkos", "bfcl_multiturn")
MOST_ASKED, MOST_PAST = 300, 5_000
RULES: Mapping[str, Callable[[float], tuple[float, float, float]]] = {
    "words 1-1": lambda _: (1, 1, 0),
    "words 1-2l": lambda likeness: (1, 2 * likeness, 0),
    "1-1-1": lambda _: (1, 1, 1),
    "1-1-.5": lambda _: (1, 1, 0.5),
    "1-2-1": lambda _: (1, 2, 1),
    "1-3l-1": lambda likeness: (1, 3 * likeness, 1),
    "1-4l-1": lambda likeness: (1, 4 * likeness, 1),
    "1-6l-1": lambda likeness: (1, 6 * likeness, 1),
}


def ask(
    index: Index,
    kind: Kind,
    asked: Sequence[Workflow],
    slots: Sequence[int],
    gold: Sequence[frozenset[int]],
) -> dict[str, float]:
    """Mean nDCG@10 of each rule."""
    intents = [workflow.intent for workflow in asked]
    scores: dict[str, list[np.ndarray]] = {rule: [] for rule in RULES}
    for intent, vector in zip(intents, default_encoder().encode(intents), strict=True):
        found = index._evidence(intent, kind, vector)  # noqa: SLF001  # what is fused
        likeness = min(float(np.sqrt(found.votes.max(initial=0))), 1.0)
        for rule, weights in RULES.items():
            # A ranking without weight is left out, as if there were none.
            pairs = zip((found.texts, found.votes, found.meanings), weights(likeness), strict=True)
            used = [(ranking, weight) for ranking, weight in pairs if weight]
            rankings, weighed = [one for one, _ in used], [weight for _, weight in used]
            scores[rule].append(fuse(rankings, weighed)[list(slots)])
    return {
        rule: float(np.mean([ndcg(10)(r) for r in gold_ranks(np.array(rows, np.float32), gold)]))
        for rule, rows in scores.items()
    }


def parts(dataset: Dataset) -> tuple[list[Workflow], list[Workflow]]:
    """What is past and what is asked; all requests for one main tool are on one side."""
    train = dataset.split("train")
    back = [one for one in train if held("fuse" + (one.main_tool or one.intent))]
    past = [one for one in train if not held("fuse" + (one.main_tool or one.intent))]
    rng = np.random.default_rng(1)
    drawn = [rng.permutation(len(part)).tolist() for part in (past, back)]
    return [past[n] for n in drawn[0][:MOST_PAST]], [back[n] for n in drawn[1][:MOST_ASKED]]


def study(dataset: Dataset) -> dict[str, dict[str, float]]:
    """Tools and capabilities with a past, and tools without."""
    past, asked = parts(dataset)
    tools = {tool.id: tool for tool in dataset.tools}
    places = {tool: place for place, tool in enumerate(tools)}
    used: dict[frozenset[str], list[str]] = {}
    for workflow in past:
        used.setdefault(frozenset(workflow.nodes), []).append(workflow.intent)
    entries = [tool_entry(tool) for tool in tools.values()]
    capabilities = [
        capability_entry(
            f"capability {number:06}",
            Candidate(tools=tuple(tools[n] for n in sorted(nodes)), past_intents=tuple(intents)),
            recall=True,
        )
        for number, (nodes, intents) in enumerate(used.items())
    ]
    index, bare = index_of([*entries, *capabilities]), index_of(entries)
    gold = [frozenset(places[node] for node in one.nodes) for one in asked]
    slots = range(len(entries))
    found = {
        "tools": ask(index, "tool", asked, slots, gold),
        "tools, nothing past": ask(bare, "tool", asked, slots, gold),
    }
    numbers = {nodes: number for number, nodes in enumerate(used)}
    same = [one for one in asked if frozenset(one.nodes) in numbers]
    if same:
        right = [frozenset([numbers[frozenset(one.nodes)]]) for one in same]
        after = range(len(entries), len(entries) + len(capabilities))
        found["capabilities"] = ask(index, "capability", same, after, right)
    return found


def main() -> None:
    """See the head."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    for name in SETS:
        for what, figures in study(load(data / name).dataset).items():
            told = "  ".join(f"{rule} {figure:.3f}" for rule, figure in figures.items())
            print(f"{name}, {what:20} {told}", flush=True)


if __name__ == "__main__":
    main()
