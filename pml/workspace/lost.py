"""Folds of what is left where some servers are lost, and the requests for what is not (LE-5).

Where a catalogue has new servers (`pml.learning.cold_start`), a model is judged by models that were
trained without some others.  Nothing of those may be known to them: they have their own
folds, views and latent words.  The general encoder stays; it is not made of one catalogue, or
was trained on all of its texts if the section ``encoder`` says so.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pml.evaluation.dataset import Dataset
from pml.evaluation.shgat_examples import runs_of
from pml.evaluation.shgat_views import Source
from pml.learning.cold_start import cold_start
from pml.learning.examples import Example
from pml.learning.folds import LostFolds, cross_fitted
from pml.workspace.encoding import refitted_encoder
from pml.workspace.folds import Folds
from pml.workspace.importing import Imported
from pml.workspace.parameters import Parameters
from pml.workspace.training import FeatureParameters


def lost_folds(
    imported: Imported, examples: Sequence[Example], parameters: Parameters, encoder: Path
) -> Iterator[LostFolds]:
    """One after the other, as each may be large; none where few tools are on new servers.

    Args:
        imported: The data set.
        examples: All of it.
        parameters: Sections ``features`` and ``encoder``.
        encoder: Folder of the data set's encoder.

    Raises:
        ConfigError: a parameter is unknown or out of range, or the encoder cannot be read.
    """
    how = parameters.section("features", FeatureParameters)
    dataset = imported.loaded.dataset
    servers = {tool.id: tool.server for tool in dataset.tools}
    found = cold_start(examples, servers, seed=how.seed, calls=_calls(imported))
    if found is None:
        return
    for part in found.parts:
        known = {example.source for example in part.known}
        source = Source(
            dataset,
            refitted_encoder(encoder, _left(dataset, known), parameters),
            # others would tell which tools of what is lost a capability has
            [trace for trace in imported.traces if trace.id in known],
        )
        builder = Folds(source)
        yield LostFolds(
            folds=cross_fitted(part.known, builder, folds=how.folds, seed=how.seed),
            asked=builder(part.known, part.asked),
            needing=part.needing,
            share=found.share,
        )


def _calls(imported: Imported) -> dict[str, set[str]]:
    """By source, what its recorded runs called."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for trace in imported.traces:
        found[trace.id].update(task.tool for task in trace.task_results)
    for episode, calls in runs_of(imported.loaded.dataset):
        found[episode.workflow_id or episode.id].update(call.tool_id for call in calls)
    return found


def _left(dataset: Dataset, known: Collection[str]) -> Dataset:
    """With the workflows that are known."""
    return replace(dataset, workflows=tuple(each for each in dataset.workflows if each.id in known))
