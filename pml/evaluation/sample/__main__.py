"""``python -m pml.evaluation.sample DIR`` writes the sample set into a folder."""

import sys
from pathlib import Path

from pml.evaluation.sample.errands import errands
from pml.evaluation.saving import save

_ARGUMENTS = 2


def main(arguments: list[str]) -> int:
    """Write the set; 2 where the folder is not named."""
    if len(arguments) != _ARGUMENTS or arguments[1].startswith("-"):
        sys.stderr.write("usage: python -m pml.evaluation.sample DIR\n")
        return 2
    save(errands(), Path(arguments[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
