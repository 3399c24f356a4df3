"""Where some servers are lost, recorded runs of them are as well (LE-5)."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from pml.domain.trace import ExecutionTrace
from pml.evaluation.dataset import Dataset
from pml.evaluation.loading import Loaded
from pml.evaluation.shgat_examples import examples_of
from pml.features.columns import TOOL_COLUMNS
from pml.learning.folds import LostFolds
from pml.tracking.tracked import DataFacts
from pml.workspace.encoding import write_encoder
from pml.workspace.importing import Imported
from pml.workspace.lost import lost_folds
from pml.workspace.parameters import parameters_of
from tests.cli.test_trace_exchange import READ, a_trace
from tests.evaluation.catalogues import SERVERS, TOOLS, USED

PARAMETERS = parameters_of({"encoder": {"latent": 0}, "features": {"folds": 3}}, "test")


def run(number: int, *servers: str) -> ExecutionTrace:
    """Finds something on one server after the other."""
    found = [
        msgspec.structs.replace(READ, tool=f"{server}:find", started_at_ms=READ.started_at_ms + at)
        for at, server in enumerate(servers)
    ]
    return msgspec.structs.replace(
        a_trace(number, *found), intent_text=f"find {number}", capability_id="everything"
    )


def lost_of(traces: Sequence[ExecutionTrace], folder: Path) -> list[LostFolds]:
    dataset = Dataset(name="found", tools=TOOLS)
    imported = Imported(
        loaded=Loaded(dataset=dataset, files=(), notes=()),
        traces=tuple(traces),
        facts=DataFacts(name="found", path="", hash=""),
    )
    write_encoder(dataset, PARAMETERS, folder / "encoder")
    examples = examples_of(dataset, imported.traces)
    return list(lost_folds(imported, examples, PARAMETERS, folder / "encoder"))


def test_a_capability_is_not_known_by_runs_that_called_what_is_lost(tmp_path: Path) -> None:
    """Each of its runs calls another server."""
    found = lost_of([run(at, USED[at % len(USED)]) for at in range(45)], tmp_path)

    assert len(found) == 3
    for one in found:
        view = one.asked.view
        members = {SERVERS[view.graph.tools[at]] for at in view.graph.members}
        assert members
        assert not members & set(one.needing.values())


def test_a_run_is_lost_with_a_server_that_it_called_in_vain(tmp_path: Path) -> None:
    """Its last call met a server that was down, of which no example says anything."""
    traces = []
    for at in range(45):
        made = run(at, USED[at % len(USED)], USED[(at + 1) % len(USED)])
        first, last = made.task_results
        down = msgspec.structs.replace(last, success=False, error_code="unavailable")
        traces.append(msgspec.structs.replace(made, task_results=(first, down)))
    frequency = TOOL_COLUMNS.index("frequency")

    found = lost_of(traces, tmp_path)

    assert len(found) == 3
    for one in found:
        view = one.asked.view
        often = {
            SERVERS[tool]
            for tool, row in zip(view.graph.tools, view.inputs.tool_features, strict=True)
            if row[frequency] > 0
        }
        assert often
        assert not often & set(one.needing.values())
