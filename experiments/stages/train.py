"""Stage `train`: a model from the folds, told to MLflow as it is made."""

from pml.learning.training_config import TrainingConfig
from pml.models.model_file import to_bytes
from pml.tracking.tracked import RunFacts
from pml.workspace.curves import curve_rows, curves_svg
from pml.workspace.encoder_folder import read_encoder
from pml.workspace.files import write_all, write_json
from pml.workspace.importing import imported_from
from pml.workspace.layout import PARAMETERS, TRACKING, Layout
from pml.workspace.parameters import read_parameters
from pml.workspace.stored import read_folds, read_lost
from pml.workspace.telling import tell_model, tell_training, tracking
from pml.workspace.training import Lineage, exported, told, trained_and_judged


def main() -> None:
    """Run the stage."""
    layout, parameters = Layout(), read_parameters(PARAMETERS)
    data = imported_from(layout.imported).facts
    folds, full = read_folds(layout.features)
    seed = parameters.section("train", TrainingConfig).seed
    lineage = Lineage(
        data_hash=data.hash,
        encoder=read_encoder(layout.encoder).name,
        seed=seed,
    )
    facts = RunFacts(
        name=f"train {data.name}",
        kind="training",
        data=data,
        seed=seed,
        parameters=parameters.flat("encoder", "features", "model", "train"),
    )
    with tracking(TRACKING).run(facts) as run:
        trained = trained_and_judged(
            folds,
            full,
            parameters,
            lost=read_lost(layout.features),
            on_epoch=lambda epoch: print(told(epoch)),
            on_judge=print,
        )
        content = to_bytes(exported(trained, lineage))
        layout.model.write_bytes(content)
        tell_model(run, content)
        tell_training(run, trained)
    write_json(layout.metrics("train"), trained.figures)
    write_json(layout.plots("train") / "epochs.json", curve_rows(trained.history))
    write_all(layout.plots("train"), {"curves.svg": curves_svg(trained.history).encode()})


if __name__ == "__main__":
    main()
