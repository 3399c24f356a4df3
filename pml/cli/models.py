"""`pml models`: the registry of models; which one is champion, and back (LE-7, RW-3)."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.extras import check_extra
from pml.cli.options import AsJson, example
from pml.cli.table import table
from pml.cli.terminal import note, result, result_json, width
from pml.errors import ConfigError, NotFoundError

if TYPE_CHECKING:
    from pml.tracking.mlflow_registry import Registry, Version

_EXAMPLES = (
    "pml models",
    "pml models promote 3",
    "pml models rollback",
    "pml models get --out champion.pml",
)
Number = Annotated[int, typer.Argument(metavar="VERSION", min=1, help="Its number.")]


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    models = typer.Typer(**example(*_EXAMPLES))
    models.callback(invoke_without_command=True)(list_models)
    models.command(**example("pml models promote 3"))(promote)
    models.command(**example("pml models rollback"))(rollback)
    models.command(**example("pml models get --out champion.pml"))(get)
    app.add_typer(models, name="models")


def list_models(context: typer.Context, as_json: AsJson = False) -> None:
    """List the versions that were registered, and say which one is champion.

    They are in MLflow's registry: $MLFLOW_TRACKING_URI, else the folder tracking/.
    """
    if context.invoked_subcommand is None:
        _told(_registry().versions() if _anything_tracked() else (), as_json=as_json)


def promote(number: Number, as_json: AsJson = False) -> None:
    """Make a version the champion; only one that beats simple methods is taken.

    It may be of other data than the former champion, as when runs came in since: that is said.
    """
    registry = _registry()
    before = registry.champion()
    promoted = registry.promote(number)
    _told((promoted,), as_json=as_json)
    if before is not None and promoted.of_other_data(before):
        note(
            f"version {promoted.number} was trained on other data ({_short(promoted.data)}) than "
            f"version {before.number} ({_short(before.data)}), the champion until now: each beats "
            "simple methods on its own data, which does not say that the new one is the better; "
            "`pml models rollback` takes it back"
        )


def rollback(as_json: AsJson = False) -> None:
    """Make the former champion the champion again."""
    _told((_registry().roll_back(),), as_json=as_json)


def get(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the package goes.")],
    number: Annotated[
        int | None,
        typer.Option("--version", metavar="VERSION", help="Default: the champion."),
    ] = None,
) -> None:
    """Write the package of a version, as it was registered."""
    content = _registry().load(number)
    try:
        out.write_bytes(content)
    except OSError as exc:
        message = f"--out expected a file to write to ({exc.strerror or exc})"
        raise ConfigError(str(out), message) from exc
    result(f"wrote {out} ({len(content):,} bytes)")


def _anything_tracked() -> bool:
    """Whether there is a store to ask: to look at the registry makes none."""
    from pml.workspace.layout import TRACKING

    return TRACKING.exists() or bool(os.environ.get("MLFLOW_TRACKING_URI"))


def _registry() -> "Registry":
    """The registry, which is there.

    Raises:
        NotFoundError: nothing was tracked here yet; to open a store would make one.
        StoreError: it cannot be had.
    """
    check_extra("research")
    from pml.tracking.mlflow_registry import Registry
    from pml.workspace.layout import MODEL_NAME, TRACKING
    from pml.workspace.telling import tracking

    if not _anything_tracked():
        hint = "`dvc repro` tracks in it and registers; or name a server: MLFLOW_TRACKING_URI"
        raise NotFoundError("folder", str(TRACKING), hint)
    return Registry(tracking(TRACKING), MODEL_NAME)


def _short(digest: str) -> str:
    return digest[:12]


def _told(versions: "tuple[Version, ...]", *, as_json: bool) -> None:
    if as_json:
        result_json(versions)
        return
    if not versions:
        result("no version was registered: `dvc repro` registers what it packages")
        return
    rows = [
        [
            str(each.number),
            "champion" if each.champion else "taken back" if each.rolled_back else "",
            "yes" if each.beats_fallback else "no",
            _short(each.data),
            each.run_id,
        ]
        for each in versions
    ]
    result(table(["version", "state", "beats simple methods", "data", "run"], rows, width=width()))
