"""Stage `package`: model, encoder and card in one file; registered, and promoted if it may be."""

from pml.tracking.mlflow_registry import Registry
from pml.workspace.files import write_json
from pml.workspace.layout import MODEL_NAME, PARAMETERS, TRACKING, Layout
from pml.workspace.packaging import encoder_files, package_of, read_model, read_package
from pml.workspace.parameters import read_parameters
from pml.workspace.telling import register, run_of, tracking


def main() -> None:
    """Run the stage."""
    layout, parameters = Layout(), read_parameters(PARAMETERS)
    content, model = read_model(layout.model)
    made = package_of(
        content,
        model,
        encoder_files(layout.encoder),
        parameters.flat("encoder", "features", "model", "train"),
    )
    layout.package.write_bytes(made)
    manifest = read_package(layout.package).manifest
    where = tracking(TRACKING)
    former = Registry(where, MODEL_NAME).champion()
    version = register(where, run_of(where, content), made)
    write_json(layout.metrics("package"), {"bytes": len(made), "switched_on": manifest.switched_on})
    state = "champion" if version.champion else "not promoted: it does not beat the fallback"
    print(f"version {version.number} of {manifest.name}, {state}")
    if version.champion and former is not None and version.of_other_data(former):
        print(f"the former champion, version {former.number}, was trained on other data")


if __name__ == "__main__":
    main()
