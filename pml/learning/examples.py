"""What a trace teaches a ranking model: which tools served an intent, and which failed (LE-5).

A run makes examples of three tasks: the tools that served its intent, the capability that did, and
after each call the tool that was called next.  What was chosen and failed is kept beside what
served, because it is evidence against the choice and not only silence about it.

The rules, all on the careful side:

- What served is what was called with success in a run that succeeded.  A run that failed says of
  its calls that worked neither that they served nor that they failed.
- A failed choice is a tool whose calls all failed by its own fault (`pml.learning.verdicts`:
  infrastructure, refusals and mocks are no failures), or a capability whose run failed, unless
  infrastructure alone was to blame or the run does not teach (`pml.learning.experience.teaches`).
- An example counts as much as the share of its calls that were real (EX-6, XP-4); exploratory
  runs are weighed by the same share and their failures are failures.  A dry run teaches nothing:
  no server was asked, and that its code was written is no sign that it serves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pml.domain.trace import ExecutionTrace, TaskResult
from pml.learning.experience import teaches
from pml.learning.priority import NEW_PATH
from pml.learning.verdicts import Verdict, verdict_of
from pml.models.inputs import RankingTask


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One query, and what is known of its answers.

    Invariant: no id is both in ``positives`` and in ``failed``, one of them is not empty, and the
    weight is positive.  (A weight of 0 makes no example.)
    """

    task: RankingTask
    source: str
    """Id of the trace or workflow; under it priorities come back."""
    intent: str
    positives: tuple[str, ...] = ()
    """Ids that served, each once."""
    failed: tuple[str, ...] = ()
    """Ids that were chosen and failed, each once."""
    prefix: tuple[str, ...] = ()
    """Ids of the tools called before, the earliest first; empty unless the task is the next
    tool."""
    weight: float = 1.0
    """How much it counts: the share of its calls that were real."""
    priority: float = NEW_PATH
    """Of the trace on arrival (LE-1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of a run, as far as it teaches."""

    tool: str
    verdict: Verdict = Verdict.SUCCESS
    """A call that got a mock and went well counts as a success here; the weight says the rest."""
    mocked: bool = False


def examples_of_trace(trace: ExecutionTrace) -> tuple[Example, ...]:
    """All that the trace teaches; nothing if it was a dry run or has no intent."""
    if trace.dry_run or not trace.intent_text.strip():
        return ()
    results = sorted(trace.task_results, key=lambda task: task.started_at_ms)
    steps = [_step(task) for task in results]
    found = [
        *_of_steps(steps, source=trace.id, intent=trace.intent_text, served=trace.success),
        *_of_capability(trace, weight=_real_share(steps)),
    ]
    return tuple(replace(example, priority=trace.priority) for example in found)


def examples_of_workflow(
    *, source: str, intent: str, tools: Sequence[str], capability: str | None = None
) -> tuple[Example, ...]:
    """Of a recorded workflow, all of whose calls are taken to have served.

    Args:
        source: Its id.
        intent: What it served.
        tools: Ids in the order of the calls.
        capability: Id of the capability that it is a run of.
    """
    steps = [Step(tool=tool) for tool in tools]
    found = list(_of_steps(steps, source=source, intent=intent, served=True))
    if capability is not None:
        found.append(
            Example(
                task=RankingTask.CAPABILITIES,
                source=source,
                intent=intent,
                positives=(capability,),
            )
        )
    return tuple(found)


def _step(task: TaskResult) -> Step:
    went_well = task.mocked and task.success
    verdict = Verdict.SUCCESS if went_well else verdict_of(task)
    return Step(tool=task.tool, verdict=verdict, mocked=task.mocked)


def _real_share(steps: Sequence[Step]) -> float:
    """1 for no calls: nothing of it was made up."""
    return sum(not step.mocked for step in steps) / len(steps) if steps else 1.0


def _tools_with(verdict: Verdict, steps: Sequence[Step]) -> tuple[str, ...]:
    """Each once, in the order of the calls."""
    return tuple(dict.fromkeys(step.tool for step in steps if step.verdict is verdict))


def _of_steps(
    steps: Sequence[Step], *, source: str, intent: str, served: bool
) -> Iterator[Example]:
    """Examples of both tasks about tools."""
    weight = _real_share(steps)
    well = _tools_with(Verdict.SUCCESS, steps)
    failed = tuple(tool for tool in _tools_with(Verdict.FAILURE, steps) if tool not in well)
    positives = well if served else ()
    if weight > 0 and (positives or failed):
        yield Example(
            task=RankingTask.TOOLS,
            source=source,
            intent=intent,
            positives=positives,
            failed=failed,
            weight=weight,
        )
    for at in range(1, len(steps)):
        yield from _next(steps[: at + 1], source=source, intent=intent, served=served)


def _next(steps: Sequence[Step], *, source: str, intent: str, served: bool) -> Iterator[Example]:
    """The last of the steps, after those before it."""
    last, weight = steps[-1], _real_share(steps)
    chosen = (last.tool,)
    positives = chosen if served and last.verdict is Verdict.SUCCESS else ()
    failed = chosen if last.verdict is Verdict.FAILURE else ()
    if weight > 0 and (positives or failed):
        yield Example(
            task=RankingTask.NEXT_TOOL,
            source=source,
            intent=intent,
            positives=positives,
            failed=failed,
            prefix=tuple(step.tool for step in steps[:-1]),
            weight=weight,
        )


def _of_capability(trace: ExecutionTrace, *, weight: float) -> Iterator[Example]:
    if trace.capability_id is None or weight == 0 or not teaches(trace):
        return
    verdicts = {verdict_of(task) for task in trace.task_results if not task.success}
    if not trace.success and verdicts == {Verdict.UNINFORMATIVE}:
        return
    chosen = (trace.capability_id,)
    yield Example(
        task=RankingTask.CAPABILITIES,
        source=trace.id,
        intent=trace.intent_text,
        positives=chosen if trace.success else (),
        failed=() if trace.success else chosen,
        weight=weight,
    )
