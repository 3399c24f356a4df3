"""`pml evaluate`: how good methods are on a data set, and how sure that is (RW-6, LE-8)."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pml.cli.exits import ExitCode
from pml.cli.extras import check_extra
from pml.cli.options import AsJson, Quiet, example
from pml.cli.table import shorten
from pml.cli.terminal import note, result, result_json, width
from pml.domain.visible import visible
from pml.errors import ConfigError

if TYPE_CHECKING:
    from pml.domain.evaluation import Evaluation
    from pml.evaluation.run import Progress

_PROCESSES = 2
_FILES = ("report.json", "report.html")


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(
        **example(
            "pml evaluate data/errands",
            "pml evaluate data/errands --tasks tools,next --out report",
            "pml evaluate my-data --method-file my_method.py --json",
        )
    )(evaluate)


def evaluate(  # noqa: PLR0917  # typer makes them options
    folders: Annotated[
        list[Path],
        typer.Argument(metavar="DIR...", help="Data sets, each a folder with tools.parquet."),
    ],
    tasks: Annotated[
        str, typer.Option(metavar="A,B", help="Ask only these.  Default: all that a set allows.")
    ] = "",
    methods: Annotated[
        str, typer.Option(metavar="A,B", help="Ask only these methods.  Default: all.")
    ] = "",
    method_file: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Python with methods of yours; may be given again."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Write report.json and report.html there."),
    ] = None,
    processes: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many to work in.")
    ] = _PROCESSES,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Of the draws for intervals and tests.")
    ] = 0,
    track: Annotated[
        bool, typer.Option("--track", help="Tell MLflow, as `pml train --track` does.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Ask every method every question that the data sets allow, and say how good each is.

    Results come with 95 % intervals, and with paired tests against the best method.  A method
    that fails is reported, and the others go on; the exit code is 1 then.
    """
    names = tuple(_names(option) for option in (tasks, methods))
    if track:
        check_extra("research")
    if out is not None:
        _check_writable(out)  # an evaluation takes long: a report that has no place is said before
    report = _evaluated(folders, names, method_file or [], (processes, seed), quiet=quiet)
    if out is not None:
        _write(report, out)
    if track:
        _track(report, folders)
    if as_json:
        result_json(report)
    else:
        from pml.cli.render_evaluation import render_evaluation

        result(render_evaluation(report, width=width()))
    if report.interrupted:
        raise typer.Exit(ExitCode.INTERRUPTED)
    if report.failed:
        raise typer.Exit(ExitCode.FAILED)


def _names(option: str) -> tuple[str, ...] | None:
    names = tuple(name.strip() for name in option.split(",") if name.strip())
    return names or None


def _evaluated(
    folders: list[Path],
    names: tuple[tuple[str, ...] | None, ...],
    method_files: list[Path],
    numbers: tuple[int, int],
    *,
    quiet: bool,
) -> "Evaluation":
    check_extra("evaluate")
    from pml.evaluation.run import evaluate as run
    from pml.evaluation.work import Order

    (tasks, methods), (processes, seed) = names, numbers
    order = Order(
        folders=tuple(folders),
        tasks=tasks,
        methods=methods,
        method_files=tuple(method_files),
        seed=seed,
    )
    teller = EvaluationProgress(in_place=sys.stderr.isatty(), quiet=quiet)
    try:
        with redirect_stdout(sys.stderr):  # what a method prints is no result
            return run(order, processes=processes, on_progress=teller)
    finally:
        teller.close()


def _track(report: "Evaluation", folders: list[Path]) -> None:
    """A run per data set."""
    from pml.workspace.layout import TRACKING
    from pml.workspace.telling import tell_sets, tracking

    for run_id in tell_sets(tracking(TRACKING), report, folders):
        note(f"tracked as run {run_id}")


def _write(report: "Evaluation", folder: Path) -> None:
    from pml.domain.record import encode
    from pml.evaluation.page import page

    as_json, as_page = (folder / name for name in _FILES)
    with _said_where(folder):
        as_json.write_bytes(encode(report) + b"\n")
        as_page.write_text(page(report), encoding="utf-8")
    note(f"wrote {as_json} and {as_page}")


def _check_writable(folder: Path) -> None:
    """Make the folder, and open both files as they will be opened; leaves them as they are.

    Raises:
        ConfigError: something is in the way, or may not be written.
    """
    with _said_where(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for path in (folder / name for name in _FILES):
            is_new = not path.exists()
            path.open("ab").close()
            if is_new:
                path.unlink()


@contextmanager
def _said_where(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        reason = f"{exc.strerror or exc}: {exc.filename or folder}"
        message = f"--out expected a folder to write the report to; it cannot be written ({reason})"
        raise ConfigError(str(folder), message) from exc


class EvaluationProgress:
    """Says on stderr how far it is: in one line of a terminal, else a line per task and set."""

    def __init__(self, *, in_place: bool, quiet: bool) -> None:
        """``in_place`` where the line can be written over."""
        self._in_place = in_place
        self._quiet = quiet
        self._done = 0

    def __call__(self, progress: "Progress") -> None:
        """Tell what happens now."""
        line = shorten(f"[{progress.done}/{progress.of}] {progress.what}", width() - 1)
        if self._quiet:
            return
        if self._in_place:
            sys.stderr.write("\r\x1b[K" + visible(line))
            sys.stderr.flush()
        elif progress.done > self._done:
            note(line)
        self._done = progress.done

    def close(self) -> None:
        """Leave nothing of the line."""
        if self._in_place and not self._quiet:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
