"""The weights of `ProbitModel` as bytes, and back (LE-4, LE-7)."""

import math

from pml.domain.record import Record
from pml.errors import SavedStateError
from pml.learning.probit import ProbitConfig, ProbitModel
from pml.learning.saved import sealed, unsealed

FORM = "probit model"
VERSION = 1
_FARTHEST = 1e100
"""No mean is farther from 0, and no sum of means overflows."""


class ProbitState(Record, frozen=True, kw_only=True):
    """All that a `ProbitModel` knows."""

    prior_variance: float
    half_life: float | None
    """None: nothing is forgotten."""
    weights: dict[str, tuple[float, float]]


def export_state(model: ProbitModel) -> bytes:
    """The model as bytes; equal models give equal bytes."""
    config = model.config
    state = ProbitState(
        prior_variance=config.prior_variance,
        half_life=None if math.isinf(config.half_life) else config.half_life,
        weights=dict(sorted(model.weights.items())),
    )
    return sealed(state, form=FORM, version=VERSION)


def import_state(text: bytes) -> ProbitModel:
    """A model that behaves as the exported one did.

    Raises:
        SavedStateError: not what `export_state` wrote, or of another version; says where.
    """
    state = unsealed(text, ProbitState, form=FORM, version=VERSION)
    half_life = math.inf if state.half_life is None else state.half_life
    try:
        config = ProbitConfig(prior_variance=state.prior_variance, half_life=half_life)
    except ValueError as exc:
        raise SavedStateError(FORM, str(exc)) from exc
    for name, (mean, variance) in state.weights.items():
        if not (abs(mean) <= _FARTHEST and 0 < variance <= config.prior_variance):
            message = f"mean {mean} and variance {variance} of {name!r} cannot be"
            raise SavedStateError(FORM, message)
    model = ProbitModel(config)
    model.weights.update(state.weights)
    return model
