"""`pml package`: a model with all that it needs, in one file that is checked on reading (LE-7)."""

from pathlib import Path
from typing import Annotated

import typer

from pml.cli.options import AsJson, example
from pml.cli.terminal import result, result_json


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(
        **example(
            "pml package shgat.safetensors --out shgat.pml",
            "pml package shgat.safetensors --encoder shgat.encoder --out shgat.pml",
            "pml package shgat.pml",
        )
    )(package)


def package(
    model: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="What `pml train` wrote; or a package, to check it."),
    ],
    encoder: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Its encoder.  Default: the one beside the model."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the package goes.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put a model, its encoder and a card into one file; without --out, check such a file.

    The package says by checksums what is in it, and which graph, encoder and data the model is
    of.  It is a ZIP archive: `unzip -p shgat.pml card.md` shows the card.
    """
    from pml.cli.render_training import render_package
    from pml.workspace.packaging import PackageFacts, packaged, read_package

    if out is not None:
        packaged(model, encoder, out)
    path = out or model
    found = read_package(path)
    facts = PackageFacts(file=str(path), bytes=path.stat().st_size, manifest=found.manifest)
    if as_json:
        result_json(facts)
    else:
        result(render_package(facts))
