"""What ranks requests for servers that nobody has used?

Some of the used servers are lost (`pml.learning.cold_start`), all simple methods and the model are
asked requests for them (cold) and a fold of what is left (warm), and both together as the gate
weighs them; then the dev split, where there is one.  The simple method *texts and expected votes*
comes with other shares of the votes than it ships with.  No test split is read.

Run:  .venv/bin/python experiments/011-shgat/lost_servers.py FOLDER/sgd FOLDER/sealtools
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from pml.evaluation.dataset import Dataset
from pml.evaluation.loading import load
from pml.evaluation.shgat_examples import examples_of
from pml.evaluation.shgat_folds import FALLBACKS, RANKED, expected_votes
from pml.evaluation.shgat_ranking import SHIPPED, Training, trained_ranker
from pml.learning.cold_start import cold_start
from pml.learning.folds import Fallback, Rows, in_blocks
from pml.learning.gate import mean_over_groups, ndcg
from pml.learning.held_back import Tried, held_back
from pml.learning.prepared import PreparedFold
from pml.models.inputs import RankingTask

SHARES = (0.0, 0.4, 0.55, 0.7, 0.85, 1.0)
TASK = RankingTask.TOOLS
Figures = dict[str, float]


METHODS: Mapping[str, Fallback] = {
    **FALLBACKS[TASK],
    **{f"texts and {share:.2f} of the votes": expected_votes(share) for share in SHARES},
}


def reached(tried: Tried, asked: Rows) -> Figures:
    """nDCG@10 over intents of some queries, by method."""
    examples = tried.asked.tasks[TASK]
    positives, groups = examples.targets.positives, examples.targets.groups
    prepared = PreparedFold(tried.model, tried.asked)
    scores = {"model": held_back(tried.model, prepared, SHIPPED.training).scores[TASK]}
    scores |= {name: in_blocks(examples, of) for name, of in METHODS.items()}
    return {
        name: mean_over_groups(ndcg(of, positives)[asked], groups[asked])[0]
        for name, of in scores.items()
    }


def lost(dataset: Dataset) -> Iterator[tuple[Figures, Figures, float]]:
    """Of each part that is lost: figures of what is left, and of what is not."""
    examples = [one for one in examples_of(dataset) if one.task in RANKED]
    found = cold_start(examples, {tool.id: tool.server for tool in dataset.tools}, seed=0)
    if found is None:
        return
    training = Training(task=TASK, setting=SHIPPED)
    for part in found.parts:
        intents = sorted({one.intent for one in part.known})
        kept = set(np.random.default_rng(0).permutation(intents)[: len(intents) * 4 // 5].tolist())
        known = tuple(one for one in part.known if one.intent in kept)
        rest = tuple(one for one in part.known if one.intent not in kept)
        tried = training.tried(dataset, replace(part, known=known, asked=(*rest, *part.asked)))
        is_cold = np.array(
            [one.source in part.needing for one in (*rest, *part.asked) if one.task is TASK]
        )
        warm, cold = (reached(tried, np.flatnonzero(chosen)) for chosen in (~is_cold, is_cold))
        yield warm, cold, found.share


def dev(dataset: Dataset) -> Figures:
    """With all that training tells."""
    asked = dataset.split("dev")
    if not asked:
        return {}
    ranker = trained_ranker(dataset, TASK)
    place = {tool: at for at, tool in enumerate(ranker.candidates)}
    right = [np.array(sorted({place[n] for n in one.nodes if n in place})) for one in asked]
    intents = [one.intent for one in asked]
    found = {"model": float(np.nanmean(ndcg(ranker.scores(intents), right)))}
    queries = ranker.evidence.queries(TASK, intents)
    for name, of in METHODS.items():
        found[name] = float(np.nanmean(ndcg(of(queries), right)))
    return found


def table(parts: Sequence[tuple[Figures, Figures, float]], on_dev: Figures) -> Iterator[str]:
    """A row by method; means over the parts."""
    means: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for warm, cold, _ in parts:
        for name in warm:
            means[name].append((warm[name], cold[name]))
    share = parts[0][2]
    yield f"{'method':34s} warm   cold   {share:.0%} cold" + ("   dev" if on_dev else "")
    for name, pairs in means.items():
        warm, cold = np.mean(pairs, axis=0).tolist()
        both = (1 - share) * warm + share * cold
        shown = f"{name:34s} {warm:.3f}  {cold:.3f}  {both:.3f}"
        yield shown + (f"     {on_dev[name]:.3f}" if on_dev else "")


def main() -> None:
    """Print a table for each folder."""
    for folder in map(Path, sys.argv[1:]):
        dataset = replace(load(folder).dataset, episodes=(), calls=())
        parts = list(lost(dataset))
        print(f"\n{folder.name}: {len(parts)} parts")
        for line in table(parts, dev(dataset)) if parts else ["no new servers"]:
            print(line, flush=True)


if __name__ == "__main__":
    main()
