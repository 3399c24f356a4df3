"""Argument patterns as vectors (SP-7, 12.7): bounded, stable, and nothing can be read from them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.features.arguments import (
    ARGUMENT_COLUMNS,
    MOST_VALUES,
    ArgumentProfile,
    argument_pattern,
    argument_vector,
    argument_vectors,
)
from tests.features.test_value_kinds import JSON, twins

ARGUMENTS = st.dictionaries(st.text(), JSON, max_size=3)
FEW = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["/a.csv", "#prod", 3, "word", [1]]))
CALLS = st.lists(st.tuples(FEW, st.booleans()), max_size=6)


HASHED_PATH = {13: -0.707, 26: -0.707}


def vector_of(arguments: object) -> np.ndarray:
    return argument_vector(argument_pattern(arguments))


def column(arguments: object, name: str) -> float:
    return float(vector_of(arguments)[ARGUMENT_COLUMNS.index(name)])


def profile_of(calls: list[tuple[Any, bool]]) -> ArgumentProfile:
    profile = ArgumentProfile()
    for arguments, success in calls:
        profile.add(vector_of(arguments), success=success)
    return profile


@given(arguments=ARGUMENTS)
def test_a_vector_is_bounded_and_named(arguments: object) -> None:
    vector = vector_of(arguments)
    assert vector.shape == (len(ARGUMENT_COLUMNS),) == (len(set(ARGUMENT_COLUMNS)),)
    assert vector.dtype == np.float32
    assert np.all(np.abs(vector) <= 1 + 1e-6)


@given(arguments=ARGUMENTS)
def test_the_order_of_the_arguments_does_not_count(arguments: dict[str, Any]) -> None:
    turned = dict(reversed(arguments.items()))
    assert argument_pattern(turned) == argument_pattern(arguments)


@given(names=twins(), key=st.sampled_from(["path", "channel", "ids"]))
def test_values_of_one_form_have_one_vector(names: tuple[str, str], key: str) -> None:
    one, other = ({key: [f"/{name}.csv", {"deep": f"#{name}"}]} for name in names)
    assert np.array_equal(vector_of(one), vector_of(other))


@given(names=twins())
def test_keys_that_are_data_are_not_kept(names: tuple[str, str]) -> None:
    one, other = ({f"{name}@example.org": 1, f"{name}20261122": 2} for name in names)
    assert argument_pattern(one) == argument_pattern(other)
    assert {value.name for value in argument_pattern(one).values} == {"*"}


def test_the_pattern_of_the_story_is_there() -> None:
    pattern = argument_pattern({"path": "/data/in.json", "channel": "#prod"})
    assert pattern.has_path
    assert pattern.has_channel
    assert (pattern.extension, pattern.count) == ("json", 2)
    none = argument_pattern({})
    assert (none.has_path, none.has_channel, none.extension, none.count) == (False, False, None, 0)


def test_columns_say_what_they_are_named() -> None:
    arguments = {"path": "/data/in.json", "channel": "#prod"}
    assert column(arguments, "arguments_count") == pytest.approx(0.2)
    assert column(arguments, "arguments_path") == 1
    assert column(arguments, "arguments_extension_data") == 1
    assert column(arguments, "arguments_production") == 1
    assert column(arguments, "arguments_url") == 0
    assert column(arguments, "arguments_size") == pytest.approx(2 / 5)


def test_hashes_are_the_same_on_every_machine() -> None:
    hashed = vector_of({"path": "/a.json"})[-32:]
    found = {int(place): round(float(hashed[place]), 3) for place in np.flatnonzero(hashed)}
    assert found == HASHED_PATH


def test_parameters_of_other_names_differ() -> None:
    assert not np.array_equal(vector_of({"source": "a"}), vector_of({"target": "a"}))


@pytest.mark.parametrize("nothing", [{}, None])
def test_without_arguments_all_is_zero(nothing: object) -> None:
    assert not vector_of(nothing).any()


def test_what_is_no_object_is_one_argument() -> None:
    assert argument_pattern(["a", "b"]).count == 1


def test_huge_arguments_are_bounded() -> None:
    nested: Any = "x"
    for _ in range(50_000):
        nested = [nested]
    assert len(argument_pattern({"deep": nested}).values) == MOST_VALUES
    assert len(argument_pattern({f"k{n}": "x" for n in range(5_000)}).values) == MOST_VALUES


def test_a_value_that_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="no JSON value"):
        argument_pattern({"a": {1}})


def test_of_no_calls_there_is_a_matrix_without_rows() -> None:
    assert argument_vectors([]).shape == (0, len(ARGUMENT_COLUMNS))


@given(calls=CALLS)
def test_a_profile_is_the_mean_of_its_calls(calls: list[tuple[Any, bool]]) -> None:
    vectors = argument_vectors(arguments for arguments, _ in calls)
    expected = vectors.mean(axis=0) if calls else np.zeros(len(ARGUMENT_COLUMNS))
    assert profile_of(calls).mean() == pytest.approx(expected, abs=1e-6)


@given(calls=CALLS, gone=CALLS)
def test_what_is_taken_out_leaves_no_trace(
    calls: list[tuple[Any, bool]], gone: list[tuple[Any, bool]]
) -> None:
    profile = profile_of(calls + gone)
    for arguments, success in gone:
        profile.add(vector_of(arguments), success=success, weight=-1)
    assert profile.mean() == pytest.approx(profile_of(calls).mean(), abs=1e-5)


def test_what_worked_matches_and_what_failed_does_not() -> None:
    data, channel = {"path": "/a.json"}, {"channel": "#prod"}
    profile = profile_of([(data, True), (channel, False)])
    assert profile.match(vector_of({"path": "/other.json"})) > 0.2
    assert profile.match(vector_of({"channel": "#live"})) < -0.2
    assert ArgumentProfile().match(vector_of(data)) == 0
