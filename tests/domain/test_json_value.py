"""Which JSON values are the same to JavaScript (HIL-2): what an approval compares arguments by."""

import json

from hypothesis import given
from hypothesis import strategies as st

from pml.domain.json_value import parsed, same_json

SCALARS = (
    st.none()
    | st.booleans()
    | st.sampled_from([0, 1, 1.0, -0.0, 2, 0.5, 2**53, 2**53 + 1, 10**400, -(10**400)])
    | st.sampled_from(["", "0", "1", "true", "\ud800"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab1"), inner, max_size=3)
    ),
    max_leaves=6,
)


def model(value: object) -> object:
    """Equal for two values exactly when JavaScript would send them alike."""
    match value:
        case bool() | None | str():
            return (type(value), value)
        case dict():
            return frozenset((key, model(inner)) for key, inner in value.items())
        case list():
            return tuple(map(model, value))
    assert isinstance(value, int | float)
    return float(value) if abs(value) < 10**308 else ("beyond doubles", value > 0)


@given(VALUES, VALUES)
def test_values_are_the_same_when_the_model_says_so(one: object, other: object) -> None:
    """``true`` is not ``1``, ``1.0`` is, and keys have no order."""
    assert same_json(one, other) == (model(one) == model(other))


@given(VALUES)
def test_a_value_is_itself_after_it_was_sent(value: object) -> None:
    """Halves of surrogate pairs too, which JavaScript escapes."""
    assert same_json(value, parsed(json.dumps(value)))
