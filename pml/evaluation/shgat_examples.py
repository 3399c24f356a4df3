"""A data set as examples to learn from (LE-5): its training split, and the runs recorded for it.

A capability is a distinct set of tools of the training workflows: what `pml` would remember of
runs with these intents.  Recorded runs of training workflows add what a workflow cannot tell,
choices that failed.  Traces of an export, where the folder has them, are read as they are.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pml.domain.capability import normalised_intent
from pml.domain.trace import ExecutionTrace
from pml.evaluation.dataset import TRAIN, Call, Dataset, Episode, Workflow
from pml.evaluation.next_folds import NEXT, Past, example_at
from pml.evaluation.orders import mostly_graphs, ordered, paths
from pml.features.members import Members
from pml.learning.continuations import past_places
from pml.learning.examples import Example, examples_of_trace, examples_of_workflow
from pml.models.inputs import RankingTask

_ID_CHARS = 16


def capability_of(tools: Iterable[str]) -> Members:
    """The capability of a set of tools; equal sets have equal ids."""
    members = tuple(sorted(set(tools)))
    digest = hashlib.sha256("\n".join(members).encode()).hexdigest()
    return Members(id=f"tools-{digest[:_ID_CHARS]}", tools=members)


def learned_from(dataset: Dataset) -> tuple[Workflow, ...]:
    """Training workflows that call at least one tool of the catalogue."""
    known = {tool.id for tool in dataset.tools}
    return tuple(each for each in dataset.split(TRAIN) if known.intersection(each.nodes))


def examples_of(dataset: Dataset, traces: Sequence[ExecutionTrace] = ()) -> tuple[Example, ...]:
    """All examples; of the next tool only where the order of nodes says something."""
    known = {tool.id for tool in dataset.tools}
    traced = {trace.id for trace in traces}
    workflows = [each for each in learned_from(dataset) if each.id not in traced]
    found = [example for each in workflows for example in _of_workflow(each, known)]
    found += _next_of_workflows(dataset, workflows)
    found += _of_runs(dataset, traced)
    found += [example for trace in traces for example in examples_of_trace(trace)]
    if workflows and not ordered(dataset.workflows):
        found = [example for example in found if example.task is not NEXT]
    return tuple(found)


def past_of(dataset: Dataset, traces: Sequence[ExecutionTrace], known: Iterable[Example]) -> Past:
    """What was called in the runs that gave the known examples, and for what."""
    sources = {example.source for example in known}
    traced = {trace.id for trace in traces}
    workflows = [each for each in learned_from(dataset) if each.id in sources - traced]
    taught = [
        (sequence, each.intent)
        for each, sequences in zip(workflows, _sequences(dataset, workflows), strict=True)
        for sequence in sequences
    ]
    for trace in traces:
        if trace.id in sources:
            results = sorted(trace.task_results, key=lambda task: task.started_at_ms)
            taught.append((tuple(task.tool for task in results), trace.intent_text))
    return Past(
        sequences=tuple(sequence for sequence, _ in taught),
        intents=tuple(intent for _, intent in taught),
    )


def members_of(dataset: Dataset, traces: Sequence[ExecutionTrace] = ()) -> dict[str, Members]:
    """Of every capability that an example can name, by its id."""
    known = {tool.id for tool in dataset.tools}
    of_workflows = (capability_of(_known(each, known)) for each in learned_from(dataset))
    used: dict[str, dict[str, None]] = defaultdict(dict)
    for trace in traces:
        if trace.capability_id is not None:
            used[trace.capability_id].update(dict.fromkeys(t.tool for t in trace.task_results))
    of_traces = {key: Members(id=key, tools=tuple(tools)) for key, tools in used.items()}
    return {one.id: one for one in of_workflows} | of_traces


def _of_workflow(workflow: Workflow, known: set[str]) -> Iterator[Example]:
    """All but those of the next tool."""
    tools = _known(workflow, known)
    found = examples_of_workflow(
        source=workflow.id,
        intent=workflow.intent,
        tools=tools,
        capability=capability_of(tools).id,
    )
    return (example for example in found if example.task is not NEXT)


def _next_of_workflows(dataset: Dataset, workflows: Sequence[Workflow]) -> Iterator[Example]:
    """Of each place in a workflow one; what the paths through a graph share is one place."""
    ids = [tool.id for tool in dataset.tools]
    number = {tool: at for at, tool in enumerate(ids)}
    for workflow, sequences in zip(workflows, _sequences(dataset, workflows), strict=True):
        for place in past_places(sequences, [0] * len(sequences), number):
            yield example_at(place, ids, source=workflow.id, intent=workflow.intent)


def _sequences(
    dataset: Dataset, workflows: Iterable[Workflow]
) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Of each workflow its paths where most training workflows are graphs, else its nodes."""
    graphs = mostly_graphs(dataset.split(TRAIN))
    return (paths(each) if graphs else (each.nodes,) for each in workflows)


def _known(workflow: Workflow, known: set[str]) -> tuple[str, ...]:
    return tuple(node for node in workflow.nodes if node in known)


def _of_runs(dataset: Dataset, traced: set[str]) -> Iterator[Example]:
    """Of recorded runs of training workflows: tools whose calls all failed."""
    known = {tool.id for tool in dataset.tools}
    for episode, calls in runs_of(dataset):
        ended = [call for call in calls if call.tool_id in known and call.ok is not None]
        well = {call.tool_id for call in ended if call.ok}
        failed = tuple(dict.fromkeys(c.tool_id for c in ended if c.tool_id not in well))
        if failed and episode.id not in traced and episode.intent.strip():
            yield Example(
                task=RankingTask.TOOLS,
                source=episode.id,
                intent=episode.intent,
                failed=failed,
            )


def runs_of(dataset: Dataset) -> Iterator[tuple[Episode, tuple[Call, ...]]]:
    """Recorded runs that may be learned from: those of no workflow that is asked about."""
    splits: Mapping[str, str] = {each.id: each.split for each in dataset.workflows}
    held_out = {key for key, split in splits.items() if split != TRAIN}
    asked = {normalised_intent(w.intent) for w in dataset.workflows if w.split != TRAIN}
    calls: dict[str, list[Call]] = defaultdict(list)
    for call in dataset.calls:
        calls[call.episode_id].append(call)
    for episode in dataset.episodes:
        if episode.workflow_id not in held_out and normalised_intent(episode.intent) not in asked:
            yield episode, tuple(calls[episode.id])
