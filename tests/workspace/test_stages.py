"""What stages hand on to each other is read as it was written, or refused (RW-2)."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.embedding.static import load_static
from pml.embedding.training import EncoderConfig
from pml.errors import ConfigError, DatasetError
from pml.evaluation import shgat_folds
from pml.evaluation.dataset import TRAIN
from pml.evaluation.loading import load
from pml.evaluation.shgat_examples import examples_of
from pml.evaluation.shgat_views import Source
from pml.learning.fallbacks import best_fallbacks
from pml.learning.folds import LostFolds, TrainingFold, cross_fitted
from pml.learning.training_config import TrainingConfig
from pml.models.inputs import RankingTask
from pml.tracking.tracked import Scalar
from pml.workspace.encoding import EncoderParameters, write_encoder
from pml.workspace.evaluating import EvaluateParameters
from pml.workspace.folds import COLUMNS, FALLBACKS, STATS, Folds
from pml.workspace.importing import checked, copy_in, imported_from
from pml.workspace.lost import lost_folds
from pml.workspace.parameters import parameters_of, read_parameters
from pml.workspace.stored import read_folds, read_lost, write_folds
from pml.workspace.training import FeatureParameters, ModelParameters, trained_on
from pml.workspace.tuning import TuneParameters
from tests.evaluation.folders import write
from tests.workspace.exports import export

ERRANDS = Path(__file__).parents[2] / "data" / "errands"


class Letters:
    """An encoder: how often a text has each letter."""

    name = "letters"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        counts = [[text.lower().count(letter) + 1 for letter in "etaoin"] for text in texts]
        vectors: np.ndarray = np.array(counts, np.float32).reshape(-1, 6)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


@pytest.fixture(scope="module")
def source() -> Source:
    return Source(load(ERRANDS).dataset, Letters())


@pytest.fixture(scope="module")
def folds(source: Source) -> tuple[TrainingFold, ...]:
    return cross_fitted(examples_of(source.dataset), Folds(source), folds=3, seed=1)


def test_folds_are_read_as_they_were_written(
    source: Source, folds: tuple[TrainingFold, ...], tmp_path: Path
) -> None:
    full = source.view(examples_of(source.dataset))
    write_folds(tmp_path / "folds", folds, full)

    read, again = read_folds(tmp_path / "folds")

    assert again.graph.identity == full.graph.identity
    assert len(read) == len(folds) == 3
    for found, fold in zip(read, folds, strict=True):
        assert found.tasks.keys() == fold.tasks.keys() == set(RankingTask)
        for task, examples in fold.tasks.items():
            other = found.tasks[task]
            for name in ("positives", "failed"):
                pairs = zip(
                    getattr(other.targets, name), getattr(examples.targets, name), strict=True
                )
                assert all(np.array_equal(one, two) for one, two in pairs)
            assert other.targets.sources == examples.targets.sources
            rows = np.array([len(examples.queries) - 1, 0])
            mine, theirs = other.queries.take(rows), examples.queries.take(rows)
            np.testing.assert_array_equal(mine.evidence, theirs.evidence)
            assert [p.tolist() for p in mine.prefixes] == [p.tolist() for p in theirs.prefixes]


def test_folds_of_lost_servers_are_read_as_they_were_written(
    folds: tuple[TrainingFold, ...], tmp_path: Path
) -> None:
    """Twelve of them, so that their order is by number."""
    lost = [
        LostFolds(
            folds=folds[: number % 3 + 1],
            asked=folds[number % 3],
            needing={f"run-{number}": "ferry"},
            share=0.25,
        )
        for number in range(12)
    ]
    write_folds(tmp_path / "folds", folds, folds[0].view, lost)

    read = read_lost(tmp_path / "folds")

    assert [one.needing for one in read] == [one.needing for one in lost]
    assert {one.share for one in read} == {0.25}
    assert [len(one.folds) for one in read] == [len(one.folds) for one in lost]
    for found, one in zip(read, lost, strict=True):
        assert found.asked.view.graph.identity == one.asked.view.graph.identity
        for task, examples in one.asked.tasks.items():
            assert found.asked.tasks[task].targets.sources == examples.targets.sources
    assert len(read_folds(tmp_path / "folds")[0]) == len(folds)
    (tmp_path / "folds" / "lost-3" / "expected.json").write_text('{"share": 1}')
    with pytest.raises(ConfigError, match=r"expected\.json.*`dvc repro features`"):
        read_lost(tmp_path / "folds")


def test_where_servers_are_new_folds_of_lost_ones_know_nothing_of_them(tmp_path: Path) -> None:
    """Two of the twelve servers of errands have no history."""
    imported = checked(ERRANDS)
    parameters = parameters_of({"encoder": {"latent": 16}, "features": {"folds": 3}}, "test")
    encoder = write_encoder(imported.loaded.dataset, parameters, tmp_path / "encoder")
    examples = examples_of(imported.loaded.dataset)
    server = {tool.id: tool.server for tool in imported.loaded.dataset.tools}

    found = list(lost_folds(imported, examples, parameters, tmp_path / "encoder"))

    assert len(found) == 3
    full = Source(imported.loaded.dataset, encoder).view(examples)
    for one in found:
        lost = set(one.needing.values())
        for view in (one.asked.view, *(fold.view for fold in one.folds)):
            members = {view.graph.tools[at] for at in view.graph.members}
            assert not lost & {server[tool] for tool in members}
        tools = len(server)
        own, others = one.asked.view.inputs.vectors[:tools], full.inputs.vectors[:tools]
        static = load_static(tmp_path / "encoder" / "pml-static").encode(["a"]).shape[1]
        np.testing.assert_array_equal(own[:, :static], others[:, :static])
        assert not np.array_equal(own[:, static:], others[:, static:])
        assert one.asked.tasks.keys() == {RankingTask.TOOLS, RankingTask.NEXT_TOOL}
        trained = trained_on(one.folds, one.asked.view, parameters)
        assert trained.graph is one.asked.view.graph


def test_files_of_folds_are_equal_for_equal_folds_and_refused_when_damaged(
    folds: tuple[TrainingFold, ...], tmp_path: Path
) -> None:
    for name in ("one", "two"):
        write_folds(tmp_path / name, folds, folds[0].view)
    path = tmp_path / "two" / "fold-1.npz"
    assert path.read_bytes() == (tmp_path / "one" / "fold-1.npz").read_bytes()

    path.write_bytes(path.read_bytes()[:100])

    with pytest.raises(ConfigError, match=r"fold-1\.npz.*`dvc repro features`"):
        read_folds(tmp_path / "two")


def test_past_runs_say_what_comes_next_and_the_pool_says_it_best(
    folds: tuple[TrainingFold, ...],
) -> None:
    examples = folds[0].tasks[RankingTask.NEXT_TOOL]
    queries = examples.queries.take(np.arange(len(examples.queries)))

    assert queries.evidence.shape[2] == len(COLUMNS[RankingTask.NEXT_TOOL])
    assert queries.stats.shape[1] == len(STATS)
    found = {
        name: np.mean(
            [
                row.argmax() in right
                for row, right in zip(of(queries), examples.targets.positives, strict=True)
            ]
        )
        for name, of in FALLBACKS[RankingTask.NEXT_TOOL].items()
    }
    assert 0.5 < found["ppm"] < found["pool"] - 0.1  # 60 tools
    assert best_fallbacks(folds)[RankingTask.NEXT_TOOL] == "pool"


def test_simple_methods_score_every_candidate_and_past_intents_beat_texts_here(
    folds: tuple[TrainingFold, ...],
) -> None:
    for task, examples in folds[0].tasks.items():
        queries = examples.queries.take(np.arange(2))
        for of in FALLBACKS[task].values():
            scores = of(queries)
            assert scores.shape == queries.evidence.shape[:2]
            assert np.isfinite(scores).all()
    assert best_fallbacks(folds)[RankingTask.TOOLS] == "all votes and words"


def test_stats_of_other_tasks_are_zeros(folds: tuple[TrainingFold, ...]) -> None:
    first = len(shgat_folds.STATS)
    for task, examples in folds[0].tasks.items():
        stats = examples.queries.take(np.arange(len(examples.queries))).stats
        own = slice(first, None) if task is RankingTask.NEXT_TOOL else slice(first)
        others = slice(first) if task is RankingTask.NEXT_TOOL else slice(first, None)
        assert stats[:, own].any()
        assert not stats[:, others].any()


def test_no_fold_knows_the_runs_of_the_intents_that_it_asks_about(
    folds: tuple[TrainingFold, ...],
) -> None:
    nearest = STATS.index("nearest intent")
    for fold in folds:
        queries = fold.tasks[RankingTask.NEXT_TOOL].queries
        stats = queries.take(np.arange(len(queries))).stats
        assert stats[:, nearest].max() < 1 - 1e-6


def test_what_a_capability_was_asked_for_is_said_of_it_alone(
    folds: tuple[TrainingFold, ...],
) -> None:
    asked = COLUMNS[RankingTask.CAPABILITIES].index("asked")
    for task in (RankingTask.TOOLS, RankingTask.CAPABILITIES):
        queries = folds[0].tasks[task].queries
        said = queries.take(np.arange(len(queries))).evidence[:, :, asked]
        assert said.any() == (task is RankingTask.CAPABILITIES)
        assert 0 <= said.min() <= said.max() <= 1


def test_an_import_keeps_the_files_and_their_hash(tmp_path: Path) -> None:
    first = checked(ERRANDS)

    facts = copy_in(first, tmp_path / "import")
    again = imported_from(tmp_path / "import")

    assert (again.facts.name, again.facts.hash) == ("errands", first.facts.hash)
    assert (facts.tools, facts.workflows, facts.calls) == (60, 400, 1187)
    assert again.loaded.dataset == first.loaded.dataset


def test_another_byte_is_another_hash_and_no_workflows_are_refused(tmp_path: Path) -> None:
    one = checked(write(tmp_path / "one" / "set"))
    two = checked(write(tmp_path / "two" / "set", episodes=None))

    assert one.facts.hash != two.facts.hash
    with pytest.raises(DatasetError, match=r"workflows\.parquet: there is nothing to learn from"):
        checked(write(tmp_path / "three" / "set", workflows=None))
    with pytest.raises(DatasetError, match="expected what the stage `import` leaves"):
        imported_from(tmp_path / "nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    rate: float = 0.5
    count: int = 3


@given(rate=st.floats(0, 1), count=st.integers(0, 99))
def test_sections_are_read_by_type_and_changed_by_path(rate: float, count: int) -> None:
    given_: dict[str, dict[str, Scalar]] = {"train": {"rate": rate}}
    parameters = parameters_of(given_, "params.yaml").with_values({"train.count": count})

    assert parameters.section("train", Kind) == Kind(rate=rate, count=count)
    assert parameters.section("other", Kind) == Kind()
    assert parameters.flat("train", "other") == {"train.rate": rate, "train.count": count}
    assert given_ == {"train": {"rate": rate}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("train: {rat: 1}", r"train\.rat: there is no such parameter; did you mean 'rate'"),
        ("train: {count: many}", r"train\.count: Expected `int`, got `str`"),
        ("train: 3", "train: expected a section"),
        ("train: {rate: .inf}", r"train\.rate: expected a number, found inf"),
        ("trian: {count: 1}", "trian: there is no such section; did you mean 'train'"),
        ("train: {1: 2}", r"train\.1: expected the name of a parameter"),
        ("[", "is no YAML"),
        ("", "expected sections"),
    ],
)
def test_what_is_no_parameter_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(text)

    with pytest.raises(ConfigError, match=rf"params\.yaml: {said}"):
        read_parameters(path).section("train", Kind)


@pytest.mark.parametrize(
    ("section", "kind", "value", "said"),
    [
        ("encoder", EncoderParameters, {"latent": -1}, "latent: expected 0 or more, got -1"),
        ("features", FeatureParameters, {"folds": 2}, "folds: expected 3 or more, got 2"),
        ("features", FeatureParameters, {"seed": -1}, "seed: expected 0 or more"),
        ("model", ModelParameters, {"heads": 0}, "heads: expected 1 or more"),
        ("train", TrainingConfig, {"epochs": 0}, "out of range: epochs=0, expected 1 or more"),
        ("encoder_training", EncoderConfig, {"batch": 0}, "batch: expected 1 or more"),
        ("tune", TuneParameters, {"trials": 0}, "trials: expected 1 or more"),
        ("evaluate", EvaluateParameters, {"seed": -1}, "seed: expected 0 or more"),
    ],
)
def test_a_number_out_of_range_is_refused_with_what_was_expected(
    section: str, kind: type, value: dict[str, int], said: str
) -> None:
    with pytest.raises(ConfigError, match=f"params.yaml: {section}.*: {said}"):
        parameters_of({section: value}, "params.yaml").section(section, kind)


def test_traces_of_what_is_asked_about_teach_nothing(tmp_path: Path) -> None:
    """Of an export: its last fifth is the test split."""
    export(tmp_path / "traces", 50)

    imported = checked(tmp_path / "traces")

    held_out = {each.id for each in imported.loaded.dataset.workflows if each.split != TRAIN}
    assert len(held_out) == 10
    assert len(imported.traces) == 40
    assert held_out.isdisjoint(trace.id for trace in imported.traces)
    assert len(examples_of(imported.loaded.dataset, imported.traces)) > 40
