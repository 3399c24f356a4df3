"""The stage `import`: a folder of anybody's, checked, becomes the folder that all else reads.

Files are copied as they are, so that the hash of the data set is that of what was given.
"""

import hashlib
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from pml.domain.capability import normalised_intent
from pml.domain.record import Record
from pml.domain.trace import ExecutionTrace
from pml.errors import DatasetError
from pml.evaluation.dataset import TRAIN, Dataset
from pml.evaluation.loading import Loaded, load
from pml.evaluation.schema import CALLS, DEPENDENCIES, EPISODES, TOOLS, WORKFLOWS
from pml.evaluation.trace_reader import read_tools, read_traces
from pml.evaluation.trace_schema import TRACES_FILE
from pml.evaluation.trace_sets import TEST
from pml.tracking.tracked import DataFacts, data_hash

_TABLES = (TOOLS, WORKFLOWS, CALLS, EPISODES, DEPENDENCIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A data set that was checked, with the traces that came with it."""

    loaded: Loaded
    traces: tuple[ExecutionTrace, ...]
    """Those that may be learned from."""
    facts: DataFacts


class ImportFacts(Record, frozen=True, kw_only=True):
    """What the stage tells of a data set."""

    name: str
    path: str
    hash: str
    tools: int
    workflows: int
    calls: int
    traces: int
    notes: tuple[str, ...] = ()


def checked(folder: Path) -> Imported:
    """Load a data set, or an export of traces, which is one too.

    Raises:
        DatasetError: the folder is not in the format of docs/reference/datasets.md, its traces are
            not those of an export, or there is nothing in it to learn from.
    """
    loaded = load(folder)
    hashes = {each.name: each.sha256 for each in loaded.files}
    traces: tuple[ExecutionTrace, ...] = ()
    if (folder / TRACES_FILE).exists():
        batches = read_traces(folder, read_tools(folder))
        traces = tuple(_learned_from(loaded.dataset, chain.from_iterable(batches)))
        content = (folder / TRACES_FILE).read_bytes()
        hashes[TRACES_FILE] = hashlib.sha256(content).hexdigest()
    if not loaded.dataset.workflows and not traces:
        message = (
            "there is nothing to learn from: expected workflows (intents, and the tools that "
            "served them); `pml export-traces` writes those of your runs"
        )
        raise DatasetError(str(folder / WORKFLOWS.file), message)
    facts = DataFacts(name=loaded.dataset.name, path=str(folder), hash=data_hash(hashes))
    return Imported(loaded=loaded, traces=traces, facts=facts)


def _learned_from(dataset: Dataset, traces: Iterable[ExecutionTrace]) -> Iterator[ExecutionTrace]:
    """Traces of training workflows, which have their ids, and others with no intent asked about.

    What failed, and so is no workflow, would tell on a request that is asked about.
    """
    splits = {each.id: each.split for each in dataset.workflows}
    asked = {normalised_intent(each.intent) for each in dataset.workflows if each.split != TRAIN}
    for trace in traces:
        told = normalised_intent(trace.intent_text) in asked
        if splits.get(trace.id, TEST if told else TRAIN) == TRAIN:
            yield trace


def copy_in(imported: Imported, into: Path) -> ImportFacts:
    """Copy the files of the format into a new folder, under the name of the data set."""
    folder = Path(imported.facts.path)
    target = into / imported.facts.name
    target.mkdir(parents=True)
    for name in (*(table.file for table in _TABLES), TRACES_FILE):
        if (folder / name).exists():
            shutil.copyfile(folder / name, target / name)
    dataset = imported.loaded.dataset
    return ImportFacts(
        name=imported.facts.name,
        path=imported.facts.path,
        hash=imported.facts.hash,
        tools=len(dataset.tools),
        workflows=len(dataset.workflows),
        calls=len(dataset.calls),
        traces=len(imported.traces),
        notes=imported.loaded.notes,
    )


def imported_from(folder: Path) -> Imported:
    """What `copy_in` left in a folder.

    Raises:
        DatasetError: there is none, or it is no data set any more.
    """
    found = sorted(path for path in folder.glob("*") if path.is_dir())
    if not found:
        raise DatasetError(str(folder), "expected what the stage `import` leaves: `dvc repro`")
    return checked(found[0])
