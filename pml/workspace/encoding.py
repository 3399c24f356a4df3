"""The stage `encoder`: the encoder that PML ships, or one trained on the data set's own texts."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import as_file, files
from pathlib import Path

from pml.discovery.ports import Encoder
from pml.embedding.folder import write_static
from pml.embedding.quantising import quantised
from pml.embedding.static import default_encoder, load_static
from pml.embedding.training import EncoderConfig, train_encoder
from pml.evaluation.corpus import corpus_of
from pml.evaluation.dataset import Dataset
from pml.workspace.parameters import Parameters

FOLDER = "pml-static"
"""Name of an encoder's folder, and so of the encoder; its hash tells those of that name apart."""


class EncoderSource(StrEnum):
    """Where the encoder is from."""

    SHIPPED = "shipped"
    TRAINED = "trained"


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderParameters:
    """Section ``encoder`` of params.yaml."""

    source: EncoderSource = EncoderSource.SHIPPED
    seed: int = 0
    """Of a training."""


def copy_shipped(folder: Path) -> None:
    """Copy the encoder that PML ships into a new folder."""
    with as_file(files("pml.embedding") / "default") as shipped:
        shutil.copytree(shipped, folder)


def write_encoder(
    dataset: Dataset,
    parameters: Parameters,
    folder: Path,
    *,
    on_epoch: Callable[[int, float], None] = lambda _epoch, _loss: None,
) -> Encoder:
    """Put the encoder that the parameters name into a new folder.

    How one is trained is the section ``encoder_training``.

    Raises:
        ConfigError: a parameter is unknown or out of range.
    """
    how = parameters.section("encoder", EncoderParameters)
    if how.source is EncoderSource.SHIPPED:
        copy_shipped(folder)
        return default_encoder()
    config = parameters.section("encoder_training", EncoderConfig)
    trained = train_encoder(corpus_of([dataset]), config, seed=how.seed, on_epoch=on_epoch)
    folder.mkdir(parents=True)
    write_static(folder, trained.tokenizer, *quantised(trained.rows))
    return load_static(folder)
