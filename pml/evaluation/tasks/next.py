"""The task ``next``: which tool is called next, after these and for this intent?"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64

from pml.evaluation.cases import groups
from pml.evaluation.dataset import TRAIN, Call, Dataset, Tool, Workflow
from pml.evaluation.measured import Mean, Measured
from pml.evaluation.orders import mostly_graphs, ordered, paths, successors
from pml.evaluation.questions import NextQuestion, Point, Rankings
from pml.evaluation.splits import held_out, sampled, shuffled
from pml.evaluation.task import Problem

NextProblem = Problem[NextQuestion, Rankings]

SEEN_AT_MOST = 1_200
SEEN_SHARE = 10
"""The problem ``seen`` asks about one in so many training workflows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Taught:
    """Sequences of calls, and what they were for; problems share it, and so what is learned."""

    sequences: tuple[tuple[str, ...], ...]
    intents: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A point and what followed there."""

    point: Point
    right: frozenset[str]
    group: int


class NextTools:
    """Which tool comes next?

    Of a set whose workflows have a training split, and nodes whose order says something
    (`pml.evaluation.orders.ordered`), one problem per split ``dev`` or ``test*``: every proper
    prefix of a workflow is a point, and what was called after it is right; of more than 1,500
    workflows a sample.  Where most training workflows are graphs, the points are their nodes,
    reached on the way back along first edges, all successors are right, and what teaches are the
    paths through the training graphs.

    Where most calls of the held-out splits are to tools that training never calls, these problems
    show what a method does with new tools.  A problem ``seen`` then shows what it does with known
    ones: of the training workflows, shuffled, it asks about the last tenth (at most 1,200) and
    teaches the rest; none where most of these calls are to tools that the rest never calls either.

    Of a set without a training split but with recorded episodes, one problem ``episodes``: the
    tasks of the episodes in the natural order of their ids, the last three of each ten asked about
    and the rest taught; tools are those of the servers that were called.

    A case is a point; cases of one workflow, of workflows with one main tool, or of the
    episodes of one task, are one group.
    """

    name = "next"
    title = "Next tool"
    headline = "acc1"
    higher_is_better = True

    def problems(self, dataset: Dataset) -> Sequence[NextProblem]:
        """As the class says; points without any are no problem."""
        found = _of_workflows(dataset) if dataset.split(TRAIN) else _of_episodes(dataset)
        return tuple(problem for problem in found if problem.question.points)


TASK = NextTools()


def _of_workflows(dataset: Dataset) -> Iterable[NextProblem]:
    train = dataset.split(TRAIN)
    if not ordered(dataset.workflows):
        return
    graphs = mostly_graphs(train)
    splits = held_out(dataset)
    taught = _taught(train if splits else (), graphs)
    for split in splits:
        asked = sampled(dataset.split(split))
        yield _problem(split, dataset.tools, taught, _points(asked, graphs))
    held = [workflow for split in splits for workflow in dataset.split(split)]
    if held and _mostly_new(held, train):
        mixed = shuffled(train)
        cut = len(mixed) - min(SEEN_AT_MOST, len(mixed) // SEEN_SHARE)
        rest, asked = mixed[:cut], mixed[cut:]
        if asked and not _mostly_new(asked, rest):
            yield _problem("seen", dataset.tools, _taught(rest, graphs), _points(asked, graphs))


def _mostly_new(workflows: Iterable[Workflow], train: Iterable[Workflow]) -> bool:
    """Whether most calls are to tools that training never calls."""
    known = {tool for workflow in train for tool in workflow.nodes}
    calls = [tool not in known for workflow in workflows for tool in workflow.nodes]
    return 2 * sum(calls) > len(calls)


def _taught(workflows: Iterable[Workflow], graphs: bool) -> _Taught:
    pairs = [
        (workflow.intent, sequence)
        for workflow in workflows
        for sequence in (paths(workflow) if graphs else (workflow.nodes,))
    ]
    return _Taught(
        sequences=tuple(sequence for _, sequence in pairs),
        intents=tuple(intent for intent, _ in pairs),
    )


def _points(workflows: Sequence[Workflow], graphs: bool) -> list[_Asked]:
    return [
        _Asked(point=Point(prefix=prefix, intent=workflow.intent), right=right, group=group)
        for workflow, group in zip(workflows, groups(workflows).tolist(), strict=True)
        for prefix, right in (successors(workflow) if graphs else _prefixes(workflow.nodes))
    ]


def _prefixes(nodes: Sequence[str]) -> Iterable[tuple[tuple[str, ...], frozenset[str]]]:
    return ((tuple(nodes[:at]), frozenset({nodes[at]})) for at in range(1, len(nodes)))


def _of_episodes(dataset: Dataset) -> Iterable[NextProblem]:
    calls: dict[str, list[Call]] = defaultdict(list)
    for call in dataset.calls:
        calls[call.episode_id].append(call)
    episodes = [each for each in dataset.episodes if each.id in calls]
    tasks = sorted({each.workflow_id or each.id for each in episodes}, key=_natural)
    group = {task: at for at, task in enumerate(tasks)}
    sequences: list[tuple[str, ...]] = []
    intents: list[str] = []
    asked: list[_Asked] = []
    for each in episodes:
        tools = tuple(call.tool_id for call in calls[each.id])
        of = group[each.workflow_id or each.id]
        if of % 10 < 7:  # noqa: PLR2004  # the last three of each ten are asked about
            sequences.append(tools)
            intents.append(each.intent)
            continue
        asked += [
            _Asked(point=Point(prefix=prefix, intent=each.intent), right=right, group=of)
            for prefix, right in _prefixes(tools)
        ]
    taught = _Taught(sequences=tuple(sequences), intents=tuple(intents))
    yield _problem("episodes", _of_servers_called(dataset), taught, asked)


def _natural(text: str) -> tuple[tuple[int, str], ...]:
    """A key by which ``task 9`` comes before ``task 10``."""
    return tuple(
        (int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", text)
    )


def _of_servers_called(dataset: Dataset) -> tuple[Tool, ...]:
    called = {call.tool_id for call in dataset.calls}
    servers = {tool.server for tool in dataset.tools if tool.id in called}
    return tuple(tool for tool in dataset.tools if tool.server in servers)


def _problem(
    label: str,
    tools: tuple[Tool, ...],
    taught: _Taught,
    asked: Sequence[_Asked],
) -> NextProblem:
    question = NextQuestion(
        tools=tools,
        train=taught.sequences,
        points=tuple(each.point for each in asked),
        past_intents=taught.intents,
    )
    of_case = np.array([each.group for each in asked], dtype=np.int64)
    right = tuple(each.right for each in asked)

    def judge(answers: Rankings) -> Measured:
        return Measured(metrics=_metrics(_places(answers, right)), groups=of_case)

    return Problem(task=TASK.name, label=label, question=question, judge=judge)


def _places(rankings: Rankings, right: Sequence[frozenset[str]]) -> Float64[np.ndarray, " cases"]:
    """Where the first right tool stands in each ranking, from one; infinity if none is in it.

    Raises:
        ValueError: there is another number of rankings than of points.
    """
    if len(rankings) != len(right):
        msg = f"expected {len(right)} rankings, one per point, got {len(rankings)}"
        raise ValueError(msg)
    return np.array(
        [
            next((at for at, tool in enumerate(ranking, start=1) if tool in tools), np.inf)
            for ranking, tools in zip(rankings, right, strict=True)
        ],
        dtype=np.float64,
    )


def _metrics(places: Float64[np.ndarray, " cases"]) -> dict[str, Mean]:
    hits = {"acc1": 1, "hit3": 3, "hit5": 5}
    metrics = {
        name: Mean(values=(places <= most).astype(np.float64)) for name, most in hits.items()
    }
    return {**metrics, "MRR": Mean(values=1 / places)}
