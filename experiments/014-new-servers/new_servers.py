"""What should a tool get of votes that could not name it, as nobody has used its server yet?

Run:  .venv/bin/python experiments/014-new-servers/new_servers.py --data FOLDER
Of each set's training, servers are *lost*: a third of those that were used, each once, with every
request that calls one of their tools.  Half of what is asked are such requests, half others that
were held back.  ``few`` keeps the first few requests for each lost server.  No test split is read;
of sgd the dev split is, which calls servers that training never calls.  Figures are nDCG@10,
a rule's gain in hundredths with its standard error.
"""

import argparse
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pml.discovery.entry import Entry
from pml.discovery.fusion import fuse
from pml.discovery.index import Index, Kind
from pml.discovery.weighing import weight_of_votes
from pml.domain.discovery import Found
from pml.embedding.static import default_encoder
from pml.evaluation.dataset import Dataset, Workflow
from pml.evaluation.loading import load
from pml.evaluation.questions import Candidate
from pml.evaluation.ranking import gold_ranks, ndcg
from pml.evaluation.served import capability_entry, index_of, tool_entry

SETS = ("sgd", "n8n", "ultratool", "sealtools", "toollens", "toollinkos", "bfcl_multiturn")
PARTS, FEW = 3, (1, 3)
MOST_ASKED, MOST_PAST = 500, 5_000
HELD_BACK = 4
"""One request in so many, by the hash of its main tool or its text."""
Floats = NDArray[np.float64]
Rows = NDArray[np.float32]
KINDS: tuple[Kind, ...] = ("tool", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a rule may look at; by tool."""

    newness: Floats
    shipped: Floats
    """What search presumes."""
    said: Floats
    """Mean fused share of the descriptions alone."""
    left_open: float
    """What the nearest past intent's vote leaves to 1."""


RULES: Mapping[str, Callable[[Asked], Floats]] = {
    "missing": lambda one: (one.newness > 0) * one.said,
    "missing, left open": lambda one: (one.newness > 0) * one.said * one.left_open,
    "squared, left open": lambda one: (one.newness > 0) * one.said**2 * one.left_open,
    "chance": lambda one: one.shipped / max(one.left_open, 1e-9),
    "no fading": lambda one: (one.newness == 1) * one.shipped,
    "shipped": lambda one: one.shipped,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What is known, and what is asked then."""

    name: str
    past: Sequence[Workflow]
    new: Sequence[Workflow] = ()
    """Requests that need a tool of a server that was lost or is new."""
    known: Sequence[Workflow] = ()


def held_back(one: Workflow) -> bool:
    """All requests for one main tool are on one side."""
    name = one.main_tool or one.intent
    return hashlib.sha256(("fuse" + name).encode()).digest()[0] % HELD_BACK == 0


def less(one: Workflow) -> Workflow:
    """The request without the word in its middle."""
    words = one.intent.split()
    return replace(one, intent=" ".join(words[: len(words) // 2] + words[len(words) // 2 + 1 :]))


def some(workflows: Sequence[Workflow], most: int) -> list[Workflow]:
    """So many at most, in an order drawn once."""
    drawn = np.random.default_rng(1).permutation(len(workflows))[:most].tolist()
    return [workflows[number] for number in drawn]


def scenes(dataset: Dataset) -> Iterator[Scene]:
    """Everything that is asked of a set."""
    train, server = dataset.split("train"), {tool.id: tool.server for tool in dataset.tools}
    past = some([one for one in train if not held_back(one)], MOST_PAST)
    yield Scene(
        name="held back",
        past=past,
        known=some([one for one in train if held_back(one)], MOST_ASKED),
    )
    yield Scene(name="past itself", past=past, known=some(past, 300))
    yield Scene(name="a word less", past=past, known=[less(one) for one in some(past, 300)])
    if dataset.name == "sgd":
        used = {server[node] for one in train for node in one.nodes if node in server}
        dev = some(dataset.split("dev"), 1_000)
        unheard = [any(server.get(node, "") not in used for node in one.nodes) for one in dev]
        new = [one for one, is_new in zip(dev, unheard, strict=True) if is_new]
        known = [one for one, is_new in zip(dev, unheard, strict=True) if not is_new]
        yield Scene(name="dev", past=train, new=new, known=known)
    if len(set(server.values())) > 2:  # noqa: PLR2004  # else there is none to lose
        for part in range(PARTS):
            yield from lost(train, server, part)


def lost(train: Sequence[Workflow], server: Mapping[str, str], part: int) -> Iterator[Scene]:
    """A third of the used servers, and that again with a few requests for each kept."""
    used = sorted({server[node] for one in train for node in one.nodes if node in server})
    gone = set(np.random.default_rng(0).permutation(used)[part::PARTS].tolist())
    needed = [{server[node] for node in one.nodes if node in server} & gone for one in train]
    hit = some([one for one, need in zip(train, needed, strict=True) if need], len(train))
    kept = [one for one, need in zip(train, needed, strict=True) if not need]
    past = some([one for one in kept if not held_back(one)], MOST_PAST)
    known = some([one for one in kept if held_back(one)], MOST_ASKED // 2)
    yield Scene(name="lost", past=past, new=hit[: MOST_ASKED // 2], known=known)
    for most in FEW:
        counted: Counter[str] = Counter()
        first: list[Workflow] = []
        rest: list[Workflow] = []
        for one in hit:
            need = {server[node] for node in one.nodes if node in server} & gone
            fits = all(counted[name] < most for name in need)
            (first if fits else rest).append(one)
            counted.update(need if fits else ())
        new = rest[: MOST_ASKED // 2]
        yield Scene(name=f"few {most}", past=[*past, *first], new=new, known=known)


def entries(dataset: Dataset, past: Sequence[Workflow]) -> tuple[list[Entry], list[frozenset[str]]]:
    """Tools, then what each set of tools served as a capability; and those sets."""
    tools = {tool.id: tool for tool in dataset.tools}
    used: dict[frozenset[str], list[str]] = {}
    for workflow in past:
        used.setdefault(frozenset(workflow.nodes), []).append(workflow.intent)
    capabilities = [
        capability_entry(
            f"capability {number:06}",
            Candidate(
                tools=tuple(tools[node] for node in sorted(nodes) if node in tools),
                past_intents=tuple(intents),
            ),
            recall=True,
        )
        for number, (nodes, intents) in enumerate(used.items())
    ]
    return [*map(tool_entry, tools.values()), *capabilities], list(used)


def scores(index: Index, kind: Kind, intents: Sequence[str], slots: int) -> dict[str, Rows]:
    """Of the first slots, by rule; ``before`` gives new tools nothing."""
    made: dict[str, list[Floats]] = {rule: [] for rule in ("before", *RULES)}
    tools, newness = index._newness.tools(), np.zeros(len(index._entries))  # noqa: SLF001
    newness[tools.new] = tools.newness
    for intent, vector in zip(intents, default_encoder().encode(intents), strict=True):
        found = index._evidence(intent, kind, vector)  # noqa: SLF001  # what is fused
        described = [found.texts, found.meanings]
        weight = weight_of_votes(found.votes, described, kind)
        likest = max((one.cosine for one in found.nearest.values()), default=0.0)
        asked = Asked(
            newness=newness,
            shipped=found.presumed,
            said=fuse(described),
            left_open=1 - min(likest, 1.0) ** 2,
        )
        for rule, rows in made.items():
            presumed = RULES[rule](asked) if rule in RULES else None
            rankings = [found.texts, found.votes, found.meanings]
            fused = fuse(rankings, [1.0, weight, 1.0], [None, presumed, None])
            rows.append(fused[:slots])
    return {rule: np.array(rows, np.float32) for rule, rows in made.items()}


def ask(dataset: Dataset, scene: Scene) -> dict[tuple[str, Kind], dict[str, Floats]]:
    """nDCG@10 by rule, of new and known requests among tools and among all."""
    held, sets = entries(dataset, scene.past)
    index = index_of(held)
    places = {entry.id: place for place, entry in enumerate(held) if entry.kind is Found.TOOL}
    runs = {nodes: len(places) + number for number, nodes in enumerate(sets)}
    found: dict[tuple[str, Kind], dict[str, Floats]] = {}
    for what, asked in (("new", scene.new), ("known", scene.known)):
        for kind in KINDS:
            slots = len(places if kind == "tool" else held)
            gold = [{places[node] for node in one.nodes if node in places} for one in asked]
            if kind == "all":
                right = [runs.get(frozenset(one.nodes)) for one in asked]
                gold = [
                    one if run is None else one | {run}
                    for one, run in zip(gold, right, strict=True)
                ]
            made = scores(index, kind, [one.intent for one in asked], slots) if asked else {}
            found[what, kind] = {rule: _gains(rows, gold) for rule, rows in made.items()}
    return found


def _gains(rows: Rows, gold: Sequence[set[int]]) -> Floats:
    ranks = gold_ranks(rows, gold)
    return np.array([ndcg(10)(one) if len(one) else np.nan for one in ranks])


def told(before: Floats, after: Floats) -> str:
    """The gain in hundredths, with its standard error."""
    gain = 100 * (after - before)
    gain = gain[np.isfinite(gain)]
    error = np.std(gain) / np.sqrt(len(gain))
    return f"{gain.mean():+5.1f} ±{error:.1f}"


def main() -> None:
    """See the head."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    data = parser.parse_args().data
    print(f"{'':42}{'before':>7}" + "".join(f"{rule:>20}" for rule in RULES))
    for name in SETS:
        dataset = load(data / name).dataset
        together: dict[tuple[str, str, Kind], dict[str, list[Floats]]] = {}
        for scene in scenes(dataset):
            for (what, kind), by_rule in ask(dataset, scene).items():
                row = together.setdefault((scene.name, what, kind), {})
                for rule, values in by_rule.items():
                    row.setdefault(rule, []).append(values)
        for (scene_name, what, kind), parts in together.items():
            joined = {rule: np.concatenate(values) for rule, values in parts.items()}
            if joined:
                before = joined["before"]
                gains = "".join(f"{told(before, joined[rule]):>20}" for rule in RULES)
                label = f"{name}, {scene_name}, {what}, {kind}"
                print(f"{label:42}{np.nanmean(before):7.3f}{gains}", flush=True)


if __name__ == "__main__":
    main()
