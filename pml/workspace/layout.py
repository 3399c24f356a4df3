"""Where the stages of the pipeline put what they make, below one folder that git ignores."""

from dataclasses import dataclass
from pathlib import Path

PARAMETERS = Path("params.yaml")
TRACKING = Path("tracking")
"""MLflow's store, where no server is named."""


MODEL_NAME = "shgat"
"""In a registry."""
ENCODER_SUFFIX = ".encoder"


def encoder_beside(model: Path) -> Path:
    """The folder of the encoder of a model that `pml train` wrote."""
    return model.with_name(model.stem + ENCODER_SUFFIX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Paths below ``root``; dvc.yaml names the same ones."""

    root: Path = Path("workspace")

    @property
    def imported(self) -> Path:
        """A folder with the data set in it, under its own name."""
        return self.root / "import"

    @property
    def encoder(self) -> Path:
        """A folder with the encoder in it."""
        return self.root / "encoder"

    @property
    def features(self) -> Path:
        """Folds and the full view as arrays."""
        return self.root / "features"

    @property
    def model(self) -> Path:
        """The trained model, exported."""
        return self.root / "model.safetensors"

    @property
    def evaluation(self) -> Path:
        """A folder with the report."""
        return self.root / "evaluation"

    @property
    def package(self) -> Path:
        """Model, encoder and card in one file."""
        return self.root / "package.pml"

    def metrics(self, stage: str) -> Path:
        """Figures of a stage, as JSON."""
        return self.root / f"{stage}.json"

    def plots(self, stage: str) -> Path:
        """A folder with a stage's plots."""
        return self.root / "plots" / stage
