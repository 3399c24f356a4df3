"""The sample set is what its generator makes, and has in it what there is to learn (RW-6)."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pml.evaluation.dataset import TRAIN, Call, Dataset
from pml.evaluation.loading import load
from pml.evaluation.sample.__main__ import main
from pml.evaluation.sample.errands import errands
from pml.evaluation.sample.procedures import procedures
from pml.evaluation.sample.runs import FLAKY
from pml.evaluation.sample.town import UNSEEN
from pml.evaluation.saving import save

COMMITTED = Path(__file__).parents[2] / "data" / "errands"


def test_the_committed_set_is_what_the_generator_makes() -> None:
    loaded = load(COMMITTED)

    assert loaded.dataset == errands()
    assert loaded.notes == ()


def test_the_committed_files_are_small() -> None:
    assert sum(path.stat().st_size for path in COMMITTED.iterdir()) < 150_000


def test_the_command_writes_the_set_and_says_how_to_be_called(tmp_path: Path) -> None:
    assert main(["sample", str(tmp_path / "errands")]) == 0
    assert load(tmp_path / "errands").dataset == errands()
    assert main(["sample"]) == 2


def test_what_is_saved_is_what_is_loaded(tmp_path: Path) -> None:
    for seed in range(5):
        made = errands(seed, n_requests=20, n_runs=10)
        folder = tmp_path / str(seed) / made.name
        save(made, folder)
        assert load(folder).dataset == made


def test_a_seed_makes_one_set_and_seeds_make_others() -> None:
    assert errands(1) == errands(1)
    assert errands(1) != errands(2)


def test_procedures_are_many_and_their_links_go_forward() -> None:
    known = procedures()

    assert len({each.nodes for each in known}) == 30
    for each in known:
        assert len(set(each.nodes)) == len(each.nodes)
        assert all(each.nodes.index(a) < each.nodes.index(b) for a, b in each.links)


def test_a_main_tool_comes_with_exactly_what_it_depends_on() -> None:
    town = errands()
    needs = {tool.id: {tool.id} for tool in town.tools}
    for _ in town.tools:  # a fixed point: no chain is longer than there are tools
        for each in town.dependencies:
            needs[each.consumer] |= needs[each.provider]
    asked = [each for each in town.workflows if each.main_tool]

    assert len(asked) > 100
    assert all(set(each.nodes) == needs[each.main_tool or ""] for each in asked)


def test_some_tools_are_used_in_the_test_only() -> None:
    town = errands()
    trained = {node for each in town.split(TRAIN) for node in each.nodes}
    new = {node for each in town.split("test") for node in each.nodes} - trained

    assert {node.split(".")[0] for node in new} == set(UNSEEN)
    assert set(Counter(each.split for each in town.workflows)) == {"train", "dev", "test"}


def test_calls_fail_by_tool_and_by_what_failed_before() -> None:
    """Of 1,000 runs: a difference of 5 standard errors, so chance passes 1 in 3 million times."""
    calls = errands(3, n_requests=400, n_runs=1_000).calls
    failed = np.array([call.ok is False for call in calls])
    flaky = np.array([call.tool_id in FLAKY for call in calls])
    after = np.array([_failed_before(calls, at) for at in range(len(calls))])

    assert _z(failed, flaky) > 5
    assert _z(failed, after) > 5


def _failed_before(calls: Sequence[Call], at: int) -> bool:
    earlier, call = calls[max(0, at - 1)], calls[at]
    return earlier.episode_id == call.episode_id and earlier.ok is False and at > 0


def _z(failed: np.ndarray, where: np.ndarray) -> float:
    """Difference of two shares in standard errors."""
    there, elsewhere = failed[where], failed[~where]
    variance = there.var() / len(there) + elsewhere.var() / len(elsewhere)
    return float((there.mean() - elsewhere.mean()) / np.sqrt(variance))


def test_the_set_has_what_every_task_asks_about() -> None:
    town: Dataset = errands()

    assert all(tool.input_schema and tool.output_schema for tool in town.tools)
    assert sum(each.description is not None for each in town.workflows) >= 30
    assert town.dependencies
    assert town.episodes
    assert {call.ok for call in town.calls} == {True, False, None}
