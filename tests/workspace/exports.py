"""An export of traces as `pml export-traces` writes it, of as many runs as are wanted."""

from pathlib import Path

import msgspec

from pml.domain.trace import ExecutionTrace
from pml.evaluation.anonymous import KEY_BYTES, Anonymiser
from pml.evaluation.trace_writer import writing
from tests.cli.test_trace_exchange import READ, SEND, a_trace
from tests.evaluation.random_traces import TOOLS


def export(folder: Path, runs: int) -> None:
    """Runs with intents of their own, each of one of two kinds."""
    hidden = Anonymiser(bytes(KEY_BYTES), TOOLS)
    with writing(folder, TOOLS, traces=runs) as writer:
        writer.add(hidden.trace(_run(number), epoch_ms=0) for number in range(runs))


def _run(number: int) -> ExecutionTrace:
    tasks = (READ, SEND) if number % 2 else (SEND,)
    made = a_trace(number, *tasks)
    return msgspec.structs.replace(
        made, intent_text=f"{made.intent_text} {number}", capability_id=f"kind-{number % 2}"
    )
