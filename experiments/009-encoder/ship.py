"""Trains the encoder that PML ships.

Run:  .venv/bin/python experiments/009-encoder/ship.py --data FOLDER --out pml/embedding/default
FOLDER holds the sets that `asked_sets.py` names.  Some minutes on one core; the same weights each
time.
"""

import argparse
from pathlib import Path

import torch
from asked_sets import shipped

from pml.embedding.folder import write_static
from pml.embedding.quantising import quantised
from pml.embedding.training import EncoderConfig, train_encoder

SEED = 0


def main() -> None:
    """See the head."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    trained = train_encoder(
        shipped(arguments.data),
        EncoderConfig(),
        seed=SEED,
        on_epoch=lambda epoch, loss: print(f"epoch {epoch}: loss {loss:.3f}", flush=True),
    )
    write_static(arguments.out, trained.tokenizer, *quantised(trained.rows))


if __name__ == "__main__":
    main()
