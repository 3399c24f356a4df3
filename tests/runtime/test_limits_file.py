"""limits.yaml: every limit can be set, and what it says about a malformed one (OP-5)."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pml.domain.limits import Limits
from pml.errors import ConfigError
from pml.runtime.limits_file import limit_range, load_limits
from pml.serve.compose import settings_from_env

NAMES = Limits.__struct_fields__
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "limits.md"


def within(name: str) -> st.SearchStrategy[float]:
    low, high = limit_range(name)
    if isinstance(getattr(Limits(), name), int):
        return st.integers(int(low), int(high))
    return st.floats(low, high)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("limits") / "limits.yaml"


@given(
    st.sets(st.sampled_from(NAMES)).flatmap(
        lambda names: st.fixed_dictionaries({name: within(name) for name in sorted(names)})
    )
)
def test_what_the_file_says_holds_and_the_rest_has_its_default(
    path: Path, given_limits: dict[str, float]
) -> None:
    path.write_text(yaml.safe_dump(given_limits))
    limits = load_limits(path)
    for name in NAMES:
        assert getattr(limits, name) == given_limits.get(name, getattr(Limits(), name))


@given(st.sampled_from(NAMES), st.booleans(), st.integers(1, 10**9), st.integers(0, 5))
def test_a_value_out_of_range_is_refused_with_line_name_and_range(
    path: Path, name: str, above: bool, by: int, before: int
) -> None:
    low, high = limit_range(name)
    path.write_text("#\n" * before + f"{name}: {high + by if above else low - by}\n")
    with pytest.raises(ConfigError) as caught:
        load_limits(path)
    assert caught.value.line == before + 1
    assert name in str(caught.value)
    assert f"from {low:,} to {high:,}" in str(caught.value)


@given(st.sampled_from(NAMES), st.sampled_from(["yes", "'7'", "null", "[1]", "{a: 1}", ".nan"]))
def test_what_is_no_number_is_refused(path: Path, name: str, value: str) -> None:
    path.write_text(f"{name}: {value}\n")
    with pytest.raises(ConfigError, match=rf":1: {name}: found .*; expected a"):
        load_limits(path)


def test_a_whole_number_is_meant_where_things_are_counted(path: Path) -> None:
    path.write_text("calls_per_run: 1.5\n")
    with pytest.raises(ConfigError, match="expected a whole number from 1 to 1,000,000"):
        load_limits(path)


def test_an_unknown_limit_is_refused_with_the_nearest_name(path: Path) -> None:
    path.write_text("calls_per_run: 5\ncall_per_runs: 5\n")
    with pytest.raises(ConfigError, match=r":2: .*unknown key; did you mean 'calls_per_run'"):
        load_limits(path)


@pytest.mark.parametrize("text", ["- 1\n", "7\n", "a: 1\na: 1\n"])
def test_what_is_no_mapping_is_refused(path: Path, text: str) -> None:
    path.write_text(text)
    with pytest.raises(ConfigError):
        load_limits(path)


def test_an_empty_file_changes_nothing(path: Path) -> None:
    path.write_text("# nothing yet\n")
    assert load_limits(path) == Limits()
    assert load_limits(None) == Limits()


def test_the_environment_names_the_file_and_wins_over_the_folders(tmp_path: Path) -> None:
    named, here = tmp_path / "named.yaml", tmp_path / "limits.yaml"
    named.write_text("calls_per_run: 5\n")
    here.write_text("calls_per_run: 6\n")
    assert settings_from_env({}, limits=here).limits.calls_per_run == 6
    assert settings_from_env({"PML_LIMITS": str(named)}, limits=here).limits.calls_per_run == 5
    with pytest.raises(ConfigError, match="cannot be read"):
        settings_from_env({"PML_LIMITS": str(tmp_path / "gone.yaml")})


def test_defaults_lie_in_their_ranges_and_the_example_of_the_page_is_valid(path: Path) -> None:
    path.write_text(yaml.safe_dump({name: getattr(Limits(), name) for name in NAMES}))
    assert load_limits(path) == Limits()
    example = re.search(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    path.write_text(example[1])
    assert load_limits(path).calls_per_run == 500
