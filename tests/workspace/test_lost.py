"""Where some servers are lost, recorded runs of them are as well (LE-5)."""

from pathlib import Path

import msgspec

from pml.evaluation.dataset import Dataset
from pml.evaluation.loading import Loaded
from pml.evaluation.shgat_examples import examples_of
from pml.tracking.tracked import DataFacts
from pml.workspace.encoding import write_encoder
from pml.workspace.importing import Imported
from pml.workspace.lost import lost_folds
from pml.workspace.parameters import parameters_of
from tests.cli.test_trace_exchange import READ, a_trace
from tests.evaluation.catalogues import SERVERS, TOOLS, USED


def test_a_capability_is_not_known_by_runs_that_called_what_is_lost(tmp_path: Path) -> None:
    """Each of its runs calls another server."""
    traces = [
        msgspec.structs.replace(
            a_trace(at, msgspec.structs.replace(READ, tool=f"{USED[at % len(USED)]}:find")),
            intent_text=f"find number {at}",
            capability_id="everything",
        )
        for at in range(45)
    ]
    imported = Imported(
        loaded=Loaded(dataset=Dataset(name="found", tools=TOOLS), files=(), notes=()),
        traces=tuple(traces),
        facts=DataFacts(name="found", path="", hash=""),
    )
    parameters = parameters_of({"encoder": {"latent": 0}, "features": {"folds": 3}}, "test")
    write_encoder(imported.loaded.dataset, parameters, tmp_path / "encoder")
    examples = examples_of(imported.loaded.dataset, imported.traces)

    found = list(lost_folds(imported, examples, parameters, tmp_path / "encoder"))

    assert len(found) == 3
    for one in found:
        view = one.asked.view
        members = {SERVERS[view.graph.tools[at]] for at in view.graph.members}
        assert members
        assert not members & set(one.needing.values())
