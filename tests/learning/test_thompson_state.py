"""Export, import and merging of what Thompson sampling learned (LE-4, LE-7)."""

import hashlib
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.errors import SavedStateError
from pml.learning.arms import ArmConfig
from pml.learning.risk import Risk
from pml.learning.thompson import ThompsonSampler
from pml.learning.thompson_state import export_state, import_state, merged
from pml.learning.thresholds import Mode
from pml.learning.verdicts import Verdict
from tests.learning.bandits import CONFIGS, HISTORIES, TOOLS, History, taught

SAVED = export_state(taught([("git:read", Verdict.SUCCESS), ("fs:drop", Verdict.FAILURE)]))


def behaviour(sampler: ThompsonSampler) -> list[float]:
    rng = np.random.default_rng(5)
    kinds = [(risk, mode) for risk in Risk for mode in Mode]
    known = [sampler.get_threshold(tool, *kind) for tool in (*TOOLS, "x:y") for kind in kinds]
    return known + [sampler.sample(tool, rng) for tool in TOOLS]


@given(history=HISTORIES, then=HISTORIES, config=CONFIGS)
def test_after_a_round_trip_it_behaves_and_learns_exactly_as_before(
    history: History, then: History, config: ArmConfig
) -> None:
    sampler = taught(history, config)
    back = import_state(export_state(sampler))
    assert back.config == config
    for tool, outcome in then:
        sampler.record(tool, outcome)
        back.record(tool, outcome)
    assert behaviour(back) == behaviour(sampler)
    assert export_state(back) == export_state(sampler)


@given(at=st.integers(0, len(SAVED) - 1), byte=st.integers(0, 255))
def test_a_file_with_a_damaged_byte_is_refused_or_means_the_same(at: int, byte: int) -> None:
    """A changed byte outside the state can only be refused too, or be the byte that was there."""
    damaged = SAVED[:at] + bytes([byte]) + SAVED[at + 1 :]
    if damaged == SAVED:
        return
    with pytest.raises(SavedStateError, match="Thompson sampler"):
        import_state(damaged)


@given(length=st.integers(0, len(SAVED) - 1))
def test_a_cut_file_is_refused(length: int) -> None:
    with pytest.raises(SavedStateError):
        import_state(SAVED[:length])


def rewritten(**changes: object) -> bytes:
    """The saved state with other values and a checksum that fits."""
    file = msgspec.json.decode(SAVED)
    file["state"] |= changes
    state = msgspec.json.encode(file["state"])
    file["sha256"] = hashlib.sha256(state).hexdigest()
    return msgspec.json.encode(file | {"state": msgspec.Raw(state)})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"halfLife": 0}, "halfLife"),
        ({"priorMean": 2}, "mean of the prior"),
        ({"total": 0}, "last seen at outcome 2 of 0|last seen at outcome 1 of 0"),
        ({"servers": {}}, "has no server"),
        ({"root": {"successes": -1}}, "root.successes"),
        ({"root": {"successes": "many"}}, "root.successes"),
        ({"root": {"success": 1}}, "unknown field"),
    ],
)
def test_a_value_that_cannot_be_is_refused_and_named(
    changes: dict[str, object], expected: str
) -> None:
    with pytest.raises(SavedStateError, match=expected):
        import_state(rewritten(**changes))


@pytest.mark.parametrize("count", [1e308, 2.1, 3])
def test_counts_of_more_than_all_outcomes_are_refused(count: float) -> None:
    """Of two outcomes; that many would make means that are no numbers."""
    with pytest.raises(SavedStateError, match="'root' counts more than all 2 outcomes"):
        import_state(rewritten(root={"successes": count, "failures": count, "at": 2}))


def test_counts_that_are_not_finite_are_refused() -> None:
    with pytest.raises(SavedStateError):
        import_state(SAVED.replace(b'"successes":1.0', b'"successes":1e999'))


def test_a_file_of_nothing_but_brackets_is_refused() -> None:
    """Its reader would give up before the checksum is looked at."""
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(SavedStateError, match="recursion"):
        import_state(SAVED[: SAVED.index(b'"state":') + 8] + deep + b"}")


def test_another_version_is_refused() -> None:
    with pytest.raises(SavedStateError, match="version 2, this PML reads version 1"):
        import_state(SAVED.replace(b'"version":1', b'"version":2'))


@given(one=HISTORIES, other=HISTORIES)
def test_without_decay_merging_is_learning_of_tools_from_both(one: History, other: History) -> None:
    endless = ArmConfig(half_life=math.inf, idle_half_life=math.inf)
    both = merged(taught(one, endless), taught(other, endless))
    whole = taught([*one, *other], endless)
    assert both.total == whole.total
    for tool, arm in whole.tools.items():
        assert both.tools[tool].successes == pytest.approx(arm.successes)
        assert both.tools[tool].failures == pytest.approx(arm.failures)


@given(one=HISTORIES, other=HISTORIES, config=CONFIGS)
def test_merging_does_not_depend_on_the_order(
    one: History, other: History, config: ArmConfig
) -> None:
    first, second = taught(one, config), taught(other, config)
    assert behaviour(merged(first, second)) == pytest.approx(behaviour(merged(second, first)))


@given(history=HISTORIES, config=CONFIGS)
def test_merging_with_one_that_learned_nothing_changes_nothing(
    history: History, config: ArmConfig
) -> None:
    sampler = taught(history, config)
    together = merged(sampler, ThompsonSampler(config))
    assert behaviour(together) == pytest.approx(behaviour(sampler))
