"""Trains variants of the encoder without what is held back, and asks each for that.

Run:  .venv/bin/python experiments/009-encoder/choose.py --data FOLDER [--only base,...]
Some minutes for each variant on one core; prints a row for each set asked, and their mean.
"""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from asked_sets import parted, shipped, strangers
from held_back_parts import judged

from pml.embedding.folder import write_static
from pml.embedding.quantising import quantised
from pml.embedding.static import load_static
from pml.embedding.training import EncoderConfig, train_encoder

BASE = EncoderConfig(epochs=2, requests=1)
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "base": {},
    "requests counted 5 times": {"requests": 5},
    "random start": {"random_share": 1.0},
    "learning rate .01": {"learning_rate": 0.01},
    "temperature .1": {"temperature": 0.1},
    "no hard negatives": {"hard_negatives": 0},
    "shipped": {"epochs": EncoderConfig().epochs, "requests": EncoderConfig().requests},
}


def main() -> None:
    """See the head."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default=",".join(VARIANTS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    learned, questions = parted(shipped(arguments.data))
    questions += strangers(arguments.data)
    for name in arguments.only.split(","):
        trained = train_encoder(learned, replace(BASE, **VARIANTS[name]), seed=0)
        with TemporaryDirectory() as folder:
            write_static(Path(folder), trained.tokenizer, *quantised(trained.rows))
            encoder = load_static(Path(folder))
        rows = {asked.name: judged(asked, encoder) for asked in questions}
        rows["mean"] = {
            method: float(np.mean([row[method] for row in rows.values()]))
            for method in ("bm25", "dense", "rrf", "sum")
        }
        print(f"== {name}", flush=True)
        for asked, row in rows.items():
            print(f"{asked:50}", *(f"{method} {figure:.3f}" for method, figure in row.items()))


if __name__ == "__main__":
    main()
