"""F1 of the shipped weights by threshold: what is good for one set is bad for another.

Run:  .venv/bin/python experiments/001-provides-edges/thresholds.py --data FOLDER
"""

import argparse
from pathlib import Path

import numpy as np
import sets
import train

from pml.analysis.fields.match import THRESHOLD
from pml.analysis.fields.weights import WEIGHTS

NAMES = ("sealtools", "toollinkos", "sgd")
CUTS = (0.168, 0.198, 0.231, 0.269, THRESHOLD, 0.354, 0.401, 0.45, 0.5, 0.55, 0.6, 0.646)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the sets")
    folder = parser.parse_args().data
    print("| set | pairs | " + " | ".join(map(str, CUTS)) + " |")
    print("|---|---|" + "---|" * len(CUTS))
    for name in NAMES:
        one = sets.read(folder, name)
        for split in ("train", "all"):
            scores, gold = train.pair_logits(train.weighed(WEIGHTS), one, one.splits[split])
            f1s = [train.f_beta(gold, scores >= np.log(cut / (1 - cut)), beta=1) for cut in CUTS]
            print(f"| {name} | {split} | " + " | ".join(f"{f1:.3f}" for f1 in f1s) + " |")


if __name__ == "__main__":
    main()
