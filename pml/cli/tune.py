"""`pml tune`: search for parameters in several processes; go on with a study by its name (RW-4)."""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.extras import check_extra
from pml.cli.options import AsJson, DataDir, example
from pml.cli.terminal import result, result_json
from pml.cli.train import DataFolder, Params, Seed, Track, read

if TYPE_CHECKING:
    from pml.tracking.study import Finding
    from pml.workspace.parameters import Parameters


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(
        **example(
            "pml tune data/errands --trials 20",
            "pml tune data/errands --name wide --params params.yaml --workers 2 --track",
            "pml tune data/errands --name wide --storage sqlite:///studies.db --json",
        )
    )(tune)


def tune(  # noqa: PLR0917  # typer makes them options
    folder: DataFolder,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Of the study; one of that name is gone on with.")
    ] = "shgat",
    trials: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Finished ones of the whole study.")
    ] = None,
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Processes that make trials side by side.")
    ] = 2,
    params: Params = None,
    seed: Seed = None,
    storage: Annotated[
        str | None,
        typer.Option(metavar="URL", help="As sqlite:///studies.db.  Default: PML's database."),
    ] = None,
    track: Track = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Search for parameters with which training ranks held-back requests best.

    Trials that are worse than the others at their epoch are ended early.  What was found is kept
    in the study, so that another call, or another machine with the same database, goes on.
    """
    check_extra("train")
    check_extra("research")
    parameters = read(params, seed)
    if trials is not None:
        parameters = parameters.with_values({"tune.trials": trials})
    found = _searched(folder, (name, storage, workers), parameters, data_dir, track=track)
    if as_json:
        result_json(found)
    else:
        from pml.cli.render_training import render_finding

        result(render_finding(found))


def _searched(
    folder: Path,
    study: tuple[str, str | None, int],
    parameters: "Parameters",
    data_dir: Path | None,
    *,
    track: bool,
) -> "Finding":
    from pml.serve.compose import settings_from_env
    from pml.workspace.searching import search, tracked_search, work_of

    name, storage, workers = study
    settings = settings_from_env(os.environ, data_dir=data_dir)
    with tempfile.TemporaryDirectory() as temporary:
        work = work_of(
            folder,
            parameters,
            Path(temporary),
            study=name,
            where=storage,
            data_dir=settings.data_dir,
        )
        how = tracked_search if track else search
        return how(work, workers, database_url=settings.database_url)
