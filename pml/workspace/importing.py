"""The stage `import`: a folder of anybody's, checked, becomes the folder that all else reads.

Files are copied as they are, so that the hash of the data set is that of what was given.
"""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from pml.evaluation.dataset import Dataset
from pml.evaluation.loading import load
from pml.evaluation.schema import CALLS, DEPENDENCIES, EPISODES, TOOLS, WORKFLOWS
from pml.evaluation.trace_reader import read_tools, read_traces
from pml.evaluation.trace_schema import TRACES_FILE
from pml.tracking.tracked import DataFacts, data_hash

_TABLES = (TOOLS, WORKFLOWS, CALLS, EPISODES, DEPENDENCIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A data set that was checked."""

    dataset: Dataset
    facts: DataFacts
    notes: tuple[str, ...]
    """What is odd in it."""


def checked(folder: Path) -> Imported:
    """Load a data set, or an export of traces, which is one too.

    Raises:
        DatasetError: the folder is not in the format of docs/reference/datasets.md, or its traces
            are not those of an export.
    """
    loaded = load(folder)
    hashes = {each.name: each.sha256 for each in loaded.files}
    if (folder / TRACES_FILE).exists():
        for _batch in read_traces(folder, read_tools(folder)):
            pass
        content = (folder / TRACES_FILE).read_bytes()
        hashes[TRACES_FILE] = hashlib.sha256(content).hexdigest()
    facts = DataFacts(name=loaded.dataset.name, path=str(folder), hash=data_hash(hashes))
    return Imported(dataset=loaded.dataset, facts=facts, notes=loaded.notes)


def copy_in(folder: Path, into: Path) -> None:
    """Copy the files of the format, which were checked, into a new folder."""
    into.mkdir(parents=True)
    for name in (*(table.file for table in _TABLES), TRACES_FILE):
        if (folder / name).exists():
            shutil.copyfile(folder / name, into / name)
