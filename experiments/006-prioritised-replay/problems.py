"""What is to be learned: recorded calls as cases with features, labels and groups.

`outcome`: does a call fail?  `next`: which tool comes next?  Features are those that are known
before: the tool, its server, what was called before and how that went, how many arguments.
"""

import json
import random
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Bool, Int64

_MOST = 5
"""Steps and arguments are counted up to here."""
_HELD_WORKFLOWS = 1_200
"""Of sgd, the last after a shuffle, as in the floors."""


@dataclass(frozen=True, kw_only=True)
class Cases:
    """In the order in which they happened."""

    features: Int64[np.ndarray, "cases columns"]
    """Numbers of binary features; each column has numbers of its own."""
    labels: Int64[np.ndarray, " cases"]
    groups: Int64[np.ndarray, " cases"]
    """The episode or workflow: its cases depend on each other."""

    def of(self, chosen: Bool[np.ndarray, " cases"]) -> "Cases":
        """Some of them."""
        return Cases(
            features=self.features[chosen], labels=self.labels[chosen], groups=self.groups[chosen]
        )

    def labelled(self, labels: Int64[np.ndarray, " cases"]) -> "Cases":
        """With other labels."""
        return replace(self, labels=labels)


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Cases to learn from, and cases that are held out."""

    name: str
    train: Cases
    held: Cases
    stream: Cases
    """All of them in the order of the files."""
    n_features: int
    n_classes: int
    chain: tuple[int, ...]
    """Columns by which a table looks values up: the most special first, the last common to all."""


def outcome_problem(folder: Path, name: str) -> Problem:
    """Does a call fail?  Half of the episodes train, drawn as in the floors."""
    episodes = _episodes(folder)
    known = {key for key, calls in episodes.items() if any(c["ok"] is not None for c in calls)}
    ids = sorted(known)
    random.Random(0).shuffle(ids)  # noqa: S311  # as the floors draw
    train = set(ids[: len(ids) // 2])
    rows, labels, groups = [], [], []
    for number, (key, calls) in enumerate(episodes.items()):
        for place, call in enumerate(calls):
            if call["ok"] is not None:
                rows.append(_outcome_row(call, calls[:place]))
                labels.append(int(not call["ok"]))
                groups.append((number, key in train))
    return _problem(f"outcome, {name}", rows, labels, groups, chain=(0, 1, 2), n_classes=2)


def next_problem(folder: Path, name: str) -> Problem:
    """Which tool comes next?  Of sgd 1,200 workflows are held out, of taubench 15 of 50 tasks."""
    if name == "sgd":
        frame = pl.read_parquet(folder / "workflows.parquet").filter(pl.col("split") == "train")
        shuffled = frame.sample(fraction=1.0, shuffle=True, seed=1)
        held_ids = set(shuffled[-_HELD_WORKFLOWS:]["workflow_id"])
        runs = [(row["workflow_id"] in held_ids, row["nodes"]) for row in frame.to_dicts()]
    else:
        tasks = pl.read_parquet(folder / "episodes.parquet")
        task = dict(zip(tasks["episode_id"], tasks["workflow_id"], strict=True))
        runs = [
            (int(task[key].split("/")[-1]) % 10 >= 7, [call["tool_id"] for call in calls])  # noqa: PLR2004  # as the floors split
            for key, calls in _episodes(folder).items()
        ]
    tools = {tool: n for n, tool in enumerate(sorted({t for _, nodes in runs for t in nodes}))}
    rows, labels, groups = [], [], []
    for number, (is_held, nodes) in enumerate(runs):
        for place in range(1, len(nodes)):
            one, two = nodes[place - 1], tuple(nodes[max(0, place - 2) : place])
            rows.append([tuple(nodes[max(0, place - 3) : place]), two, one, min(place, _MOST), 0])
            labels.append(tools[nodes[place]])
            groups.append((number, not is_held))
    chain = (1, 2, 4)
    return _problem(f"next, {name}", rows, labels, groups, chain=chain, n_classes=len(tools))


def _episodes(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Calls by episode, the episodes in the order of the file."""
    rows = pl.read_parquet(folder / "executions.parquet").to_dicts()
    rows = [row | {"arguments": row.get("arguments")} for row in rows]
    return {
        key: sorted(calls, key=lambda call: call["step"])
        for key, calls in groupby(rows, key=lambda row: str(row["episode_id"]))
    }


def _outcome_row(call: Mapping[str, Any], before: Sequence[Mapping[str, Any]]) -> list[Hashable]:
    tool = call["tool_id"]
    last = before[-1] if before else None
    last_ok = None if last is None else (last["ok"], last["tool_id"] == tool)
    count = _count(call["arguments"])
    failed = sum(one["ok"] is False for one in before)
    failed_here = sum(one["ok"] is False and one["tool_id"] == tool for one in before)
    return [
        (tool, last_ok),
        tool,
        0,
        tool.split(".")[0] if "." in tool else tool.rsplit("_for_", 1)[-1],
        (tool, last["tool_id"] if last else None),
        last_ok,
        (tool, count),
        min(len(before), _MOST),
        min(failed, 2),
        min(failed_here, 2),
    ]


def _count(arguments: str | None) -> int:
    """How many arguments, up to a bound; -1 where that is not known."""
    try:
        parsed = json.loads(arguments or "null")
    except json.JSONDecodeError:  # some agents wrote no JSON, and were recorded so
        return -1
    return min(len(parsed), _MOST) if isinstance(parsed, dict) else -1


def _problem(
    name: str,
    rows: Sequence[Sequence[Hashable]],
    labels: Sequence[int],
    groups: Sequence[tuple[int, bool]],
    *,
    chain: tuple[int, ...],
    n_classes: int,
) -> Problem:
    numbers: dict[tuple[int, Hashable], int] = {}
    features = [
        [numbers.setdefault((column, value), len(numbers)) for column, value in enumerate(row)]
        for row in rows
    ]
    cases = Cases(
        features=np.array(features),
        labels=np.array(labels),
        groups=np.array([group for group, _ in groups]),
    )
    trains = np.array([is_train for _, is_train in groups])
    return Problem(
        name=name,
        train=cases.of(trains),
        held=cases.of(~trains),
        stream=cases,
        n_features=len(numbers),
        n_classes=n_classes,
        chain=chain,
    )


def problems(data: Path, names: Iterable[str]) -> list[Problem]:
    """By name, such as ``outcome:sgd``."""
    made = {"outcome": outcome_problem, "next": next_problem}
    parts = [name.split(":") for name in names]
    return [made[kind](data / one, one) for kind, one in parts]
