"""A replay buffer as bytes, so that it outlives the process (LE-3, LE-7).

Keys and errors are saved, and nothing that follows from them or from the configuration, which may
have changed when the state is loaded.
"""

from typing import TypeVar

import msgspec
import numpy as np

from pml.errors import SavedStateError
from pml.learning.replay import ReplayBuffer, ReplayConfig

Key = TypeVar("Key", str, int)

_WHAT = "replay buffer"
_FORM = 1


class _Saved(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    form: int
    largest_error: float
    keys: list[str | int]
    """The oldest first."""
    errors: list[float]


def saved(buffer: ReplayBuffer[Key]) -> bytes:
    """The buffer as JSON, for `loaded`."""
    state = _Saved(
        form=_FORM,
        largest_error=buffer.largest_error,
        keys=list(buffer.keys),
        errors=buffer.errors.tolist(),
    )
    return msgspec.json.encode(state)


def loaded(state: bytes, config: ReplayConfig, key_type: type[Key]) -> ReplayBuffer[Key]:
    """The buffer that was `saved`.

    Capacity, alpha and epsilon are those of ``config``: of more keys than fit, the newest stay.

    Raises:
        SavedStateError: the state is damaged or of another form.
    """
    try:
        parsed = msgspec.json.decode(state, type=_Saved)
        _check(parsed, key_type)
        buffer: ReplayBuffer[Key] = ReplayBuffer(config, largest_error=parsed.largest_error)
        buffer.add([key_type(key) for key in parsed.keys], np.array(parsed.errors, dtype=float))
    except (msgspec.MsgspecError, ValueError) as exc:
        raise SavedStateError(_WHAT, str(exc)) from exc
    return buffer


def _check(state: _Saved, key_type: type[Key]) -> None:
    """Whether a buffer can be in that state; of the errors `ReplayBuffer.add` judges the rest."""
    wrong = {
        f"form {_FORM}, found {state.form}": state.form != _FORM,
        f"keys of type {key_type.__name__}": any(type(key) is not key_type for key in state.keys),
        "keys that differ": len(set(state.keys)) < len(state.keys),
        "errors of 0 and more": min(state.errors, default=0.0) < 0,
        "a largest error of at least 1, and of at least the others": (
            not max([1.0, *state.errors]) <= state.largest_error < float("inf")
        ),
    }
    for expected, is_wrong in wrong.items():
        if is_wrong:
            msg = f"expected {expected}"
            raise ValueError(msg)
