"""What the field matcher learned.

From the training splits of ('sealtools', 'toollinkos') only.
Made by experiments/001-provides-edges/train.py; do not edit.
"""

THRESHOLD = 0.299
WEIGHTS = {
    "bias": -1.705,
    "exact": 1.108,
    "head": -0.16,
    "head_family": 0.159,
    "heads": 0.484,
    "attribute": -0.754,
    "input_covered": 0.166,
    "output_covered": 0.302,
    "rarity": 0.166,
    "head_rarity": 0.058,
    "context": 0.181,
    "types_differ": -2.002,
    "text_and_number": -0.333,
    "one_of_many": 0.0,
    "enum_shared": 1.0,
    "enum_apart": -2.0,
    "choice": 0.117,
    "switch": -0.315,
    "control": -0.17,
    "echo": -0.23,
    "echo_made": -1.504,
    "from_name": 0.327,
    "from_description": -0.449,
    "identity": -0.032,
    "makes": 0.229,
    "changes": -0.67,
    "sends": 0.329,
    "computes": 0.081,
    "no_verb": -0.178,
    "main": 0.383,
    "aside": 0.042,
    "source": 0.668,
    "nouns": 0.46,
    "described": 0.201,
}
