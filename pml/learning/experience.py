"""All that runs change in a capability, and what one more run makes of it (LE-2, ST-4, ST-8).

Kept apart from the capability so that a store reads and writes just this, under a lock, in
the transaction that writes the trace.
"""

import json
from dataclasses import dataclass, field, replace

from pml.domain.capability import Learning, Lifecycle
from pml.domain.record import JsonText
from pml.domain.run import RunState
from pml.domain.structure import StaticStructure
from pml.domain.trace import ExecutionTrace
from pml.learning.lifecycle import CANONICAL_ARGUMENTS, lifecycle
from pml.learning.td import learned


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """What the runs of a capability came to so far; the defaults are those of a new one.

    Invariant: ``argument_hashes`` are different, and at most as many as the life cycle asks
    for; ``success_count <= usage_count``.
    """

    learning: Learning = field(default_factory=Learning)
    usage_count: int = 0
    success_count: int = 0
    argument_hashes: tuple[str, ...] = ()
    """Of the arguments with which it succeeded, the first ones."""
    lifecycle: Lifecycle = Lifecycle.CANDIDATE
    hidden: bool = True
    stale: bool = False

    def after(
        self,
        trace: ExecutionTrace,
        structure: StaticStructure,
        *,
        argument_hash: str,
        has_parameters: bool,
    ) -> "Experience":
        """With one more run, whose trace `teaches`."""
        usage = self.usage_count + 1
        successes = self.success_count + trace.success
        hashes = self.argument_hashes
        if trace.success and argument_hash not in hashes:
            hashes = (*hashes, argument_hash)[:CANONICAL_ARGUMENTS]
        return replace(
            self,
            learning=learned(self.learning, trace, structure),
            usage_count=usage,
            success_count=successes,
            argument_hashes=hashes,
            lifecycle=lifecycle(
                successes,
                usage - successes,
                distinct_arguments=len(hashes),
                has_parameters=has_parameters,
            ),
            hidden=self.hidden and not trace.success,
            stale=self.stale and not trace.success,
        )


def teaches(trace: ExecutionTrace) -> bool:
    """Whether it says how well the capability works.

    Neither a run that was stopped nor one with mocks does, nor one that failed because a server
    refused what the caller had given.
    """
    ended = trace.state in (RunState.SUCCESS, RunState.ERROR)
    return ended and not trace.dry_run and not _refused_what_was_given(trace)


def _refused_what_was_given(trace: ExecutionTrace) -> bool:
    """Whether it died of a call whose arguments the server refused and the caller had chosen."""
    message = trace.error_message or ""
    given = list(trace.initial_context.values())
    return not trace.success and any(
        task.error_code == "invalid_params"
        and bool(task.error)
        and str(task.error) in message
        and isinstance(task.args, dict)
        and any(value in given for value in task.args.values())
        for task in trace.task_results
    )


def canonical_arguments(arguments: JsonText) -> JsonText:
    """Equal for equal arguments, whatever the order of keys and the layout."""
    return json.dumps(json.loads(arguments), sort_keys=True, separators=(",", ":"))
