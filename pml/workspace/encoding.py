"""The stage `encoder`: what makes vectors of texts, fitted to the data set.

`pml.workspace.encoder_folder` reads what this writes, without torch.
"""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from pml.discovery.latent import JoinedEncoder, LatentWords
from pml.discovery.latent_fitting import DIMENSION, fit_latent_words
from pml.discovery.ports import Encoder
from pml.embedding.folder import write_static
from pml.embedding.quantising import quantised
from pml.embedding.static import load_static
from pml.embedding.training import EncoderConfig, train_encoder
from pml.evaluation.corpus import corpus_of
from pml.evaluation.dataset import TRAIN, Dataset
from pml.evaluation.text import encoded_text
from pml.workspace.encoder_folder import LATENT, STATIC, read_encoder
from pml.workspace.parameters import Parameters, least


class EncoderSource(StrEnum):
    """Where the general encoder is from."""

    SHIPPED = "shipped"
    TRAINED = "trained"


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderParameters:
    """Section ``encoder`` of params.yaml."""

    source: EncoderSource = EncoderSource.SHIPPED
    latent: int = DIMENSION
    """Dimensions of the latent words at most; 0 leaves them out."""
    seed: int = 0
    """Of a training, and of the latent words."""

    def __post_init__(self) -> None:
        least(self, latent=0, seed=0)


def write_encoder(
    dataset: Dataset,
    parameters: Parameters,
    folder: Path,
    *,
    on_epoch: Callable[[int, float], None] = lambda _epoch, _loss: None,
) -> Encoder:
    """Make the encoder that the parameters say, in a new folder.

    How the general one is trained is the section ``encoder_training``.

    Raises:
        ConfigError: a parameter is unknown or out of range.
    """
    how = parameters.section("encoder", EncoderParameters)
    folder.mkdir(parents=True)
    if how.source is EncoderSource.SHIPPED:
        with as_file(files("pml.embedding") / "default") as shipped:
            shutil.copytree(shipped, folder / STATIC)
    else:
        config = parameters.section("encoder_training", EncoderConfig)
        trained = train_encoder(corpus_of([dataset]), config, seed=how.seed, on_epoch=on_epoch)
        (folder / STATIC).mkdir()
        write_static(folder / STATIC, trained.tokenizer, *quantised(trained.rows))
    if how.latent:
        latent = _latent_words(dataset, how)
        np.savez_compressed(folder / LATENT, **latent.to_arrays())  # type: ignore[arg-type]
    return read_encoder(folder)


def refitted_encoder(folder: Path, dataset: Dataset, parameters: Parameters) -> Encoder:
    """The general encoder of a folder, and latent words of this data set.

    Raises:
        ConfigError: a parameter is unknown or out of range, or the encoder cannot be read.
    """
    how = parameters.section("encoder", EncoderParameters)
    static = load_static(folder / STATIC)
    return JoinedEncoder([static, _latent_words(dataset, how)]) if how.latent else static


def _latent_words(dataset: Dataset, how: EncoderParameters) -> LatentWords:
    """Of the catalogue and its training intents."""
    intents = [workflow.intent for workflow in dataset.split(TRAIN)]
    texts = [*map(encoded_text, dataset.tools), *intents]
    return fit_latent_words(texts, dimension=how.latent, seed=how.seed)
