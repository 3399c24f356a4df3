"""Stage `features`: examples on views that do not know them, as arrays."""

from collections import Counter

from pml.evaluation.shgat_examples import examples_of
from pml.evaluation.shgat_views import Source
from pml.learning.folds import cross_fitted
from pml.workspace.encoder_folder import read_encoder
from pml.workspace.files import write_json
from pml.workspace.folds import Folds
from pml.workspace.importing import imported_from
from pml.workspace.layout import PARAMETERS, Layout
from pml.workspace.lost import lost_folds
from pml.workspace.parameters import read_parameters
from pml.workspace.stored import write_folds
from pml.workspace.training import FeatureParameters


def main() -> None:
    """Run the stage."""
    layout = Layout()
    parameters = read_parameters(PARAMETERS)
    how = parameters.section("features", FeatureParameters)
    imported = imported_from(layout.imported)
    source = Source(imported.loaded.dataset, read_encoder(layout.encoder), imported.traces)
    examples = examples_of(source.dataset, source.traces)
    folds = cross_fitted(examples, Folds(source), folds=how.folds, seed=how.seed)
    full = source.view(examples)
    lost = tuple(lost_folds(imported, examples, parameters, layout.encoder))
    write_folds(layout.features, folds, full, lost)
    figures = {
        "examples": dict(Counter(str(example.task) for example in examples)),
        "with_failures": sum(bool(example.failed) for example in examples),
        "folds": len(folds),
        "lost_parts": len(lost),
        "tools": len(full.graph.tools),
        "capabilities": len(full.graph.capabilities),
        "memberships": len(full.graph.members),
        "graph": full.graph.identity,
        "encoder": source.encoder.name,
    }
    write_json(layout.metrics("features"), figures)
    print(f"{len(examples)} examples in {len(folds)} folds")


if __name__ == "__main__":
    main()
