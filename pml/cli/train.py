"""`pml train`: a ranking model from a data set, and whether it is worth switching on (LE-5)."""

import shutil
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.extras import check_extra
from pml.cli.options import AsJson, Quiet, example
from pml.cli.terminal import note, result, result_json
from pml.errors import ConfigError

if TYPE_CHECKING:
    from pml.workspace.learning import Learned
    from pml.workspace.parameters import Parameters

Params = Annotated[
    Path | None,
    typer.Option(
        "--params", metavar="FILE", help="A params.yaml; what it leaves out has its default."
    ),
]
Seed = Annotated[int | None, typer.Option(metavar="N", min=0, help="Of everything that is drawn.")]
Track = Annotated[
    bool,
    typer.Option("--track", help="Tell MLflow: $MLFLOW_TRACKING_URI, else the folder tracking/."),
]
DataFolder = Annotated[
    Path, typer.Argument(metavar="DIR", help="A data set, or what `pml export-traces` wrote.")
]


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(
        **example(
            "pml train data/errands",
            "pml train traces/ --out ours.safetensors --track",
            "pml train data/errands --params params.yaml --seed 3 --json",
        )
    )(train)


def train(  # noqa: PLR0917  # typer makes them options
    folder: DataFolder,
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Where the model goes; its encoder goes beside it."),
    ] = Path("shgat.safetensors"),
    params: Params = None,
    seed: Seed = None,
    track: Track = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Train a model that ranks tools, capabilities and next tools for an intent.

    It learns from the training split, is measured on requests that it has not seen, and is
    compared with the best simple method there, task by task.  Only where it beats that one would
    it be switched on.
    """
    check_extra("train")
    if track:
        check_extra("research")
    found = _trained(folder, out, read(params, seed), track=track, quiet=quiet)
    if as_json:
        result_json(found)
    else:
        from pml.cli.render_training import render_learned

        result(render_learned(found))


def read(params: Path | None, seed: int | None) -> "Parameters":
    """The parameters of a command: of its file, with its seed."""
    from pml.workspace.learning import with_seed
    from pml.workspace.parameters import Parameters, read_parameters

    found = Parameters(source="params", sections={}) if params is None else read_parameters(params)
    return found if seed is None else with_seed(found, seed)


def _trained(
    folder: Path, out: Path, parameters: "Parameters", *, track: bool, quiet: bool
) -> "Learned":
    from pml.workspace.importing import checked
    from pml.workspace.layout import TRACKING, encoder_beside
    from pml.workspace.learning import learned, prepared, run_facts, trained_to, with_lost
    from pml.workspace.training import told

    imported = checked(folder)
    _check_out(out)
    if track:
        from pml.workspace.telling import tell_training, tracking

        opened = tracking(TRACKING)
    with TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as temporary:
        made = Path(temporary, out.name)
        encoder = encoder_beside(made)
        ready = with_lost(prepared(imported, parameters, encoder), imported, parameters, encoder)
        with opened.run(run_facts(ready.data, parameters)) if track else nullcontext() as run:
            tell = (lambda _: None) if quiet else note
            trained = trained_to(
                made,
                ready,
                parameters,
                on_epoch=lambda epoch: tell(told(epoch)),
                on_judge=tell,
            )
            if run is not None:
                tell_training(run, trained)
        _put(made, out)
    return learned(imported, ready, trained, out, run=None if run is None else run.id)


def _check_out(out: Path) -> None:
    """Try whether the model can be written before it is trained."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        is_new = not out.exists()
        out.open("ab").close()
        if is_new:
            out.unlink()
    except OSError as exc:
        message = f"--out expected a file to write the model to ({exc.strerror or exc})"
        raise ConfigError(str(out), message) from exc


def _put(made: Path, out: Path) -> None:
    """Model and encoder together, where both are whole: Ctrl-C leaves those that were there."""
    from pml.workspace.layout import encoder_beside

    if encoder_beside(out).exists():
        shutil.rmtree(encoder_beside(out))
    encoder_beside(made).rename(encoder_beside(out))
    made.replace(out)
