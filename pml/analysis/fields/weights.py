"""What the field matcher learned.

From the training splits of ('sealtools', 'toollinkos') only.
Made by experiments/001-provides-edges/train.py; do not edit.
"""

THRESHOLD = 0.419
WEIGHTS = {
    "bias": -1.48,
    "exact": 1.068,
    "head": -0.16,
    "head_family": 0.16,
    "heads": 0.36,
    "input_covered": 0.276,
    "output_covered": 0.08,
    "rarity": -0.12,
    "head_rarity": -0.114,
    "context": 0.227,
    "types_differ": -2.002,
    "text_and_number": -0.319,
    "one_of_many": 0.0,
    "enum_shared": 1.0,
    "enum_apart": -2.0,
    "choice": -0.004,
    "switch": -0.373,
    "control": 0.242,
    "echo": -0.057,
    "echo_made": -1.503,
    "from_name": 0.211,
    "from_description": -0.455,
    "identity": -0.145,
    "makes": 0.208,
    "changes": -0.576,
    "sends": -0.037,
    "computes": 0.132,
    "no_verb": -0.023,
    "main": 0.523,
    "aside": -0.091,
    "source": 0.54,
    "nouns": 0.431,
    "described": 0.291,
}
