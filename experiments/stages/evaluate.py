"""Stage `evaluate`: the trained model beside the simple methods, on the test split."""

import time

from pml.domain.record import encode
from pml.evaluation.page import page
from pml.evaluation.shgat_examples import examples_of
from pml.evaluation.shgat_views import Source
from pml.tracking.tracked import RunFacts
from pml.workspace.answering import Ranker, Who, methods
from pml.workspace.encoder_folder import read_encoder
from pml.workspace.evaluating import EvaluateParameters, evaluated, headline_metrics, plots
from pml.workspace.files import write_all, write_json
from pml.workspace.importing import imported_from
from pml.workspace.layout import PARAMETERS, TRACKING, Layout
from pml.workspace.packaging import read_model
from pml.workspace.parameters import read_parameters
from pml.workspace.telling import tell_evaluation, tracking


def main() -> None:
    """Run the stage."""
    layout, parameters = Layout(), read_parameters(PARAMETERS)
    how = parameters.section("evaluate", EvaluateParameters)
    imported = imported_from(layout.imported)
    source = Source(imported.loaded.dataset, read_encoder(layout.encoder), imported.traces)
    ranker = Ranker(source, examples_of(source.dataset, source.traces), read_model(layout.model)[1])
    facts = RunFacts(
        name=f"evaluate {imported.facts.name}",
        kind="evaluation",
        data=imported.facts,
        seed=how.seed,
        parameters=parameters.flat("evaluate"),
    )
    with tracking(TRACKING).run(facts) as run:
        report = evaluated(imported.loaded, methods(ranker), how, clock_s=time.time)
        tell_evaluation(run, report)
    files = {"report.json": encode(report) + b"\n", "report.html": page(report).encode()}
    write_all(layout.evaluation, files)
    write_all(layout.plots("evaluate"), plots(report))
    # a column each in `dvc metrics show`; the other methods are in the report
    write_json(layout.metrics("evaluate"), headline_metrics(report, tuple(Who)))


if __name__ == "__main__":
    main()
