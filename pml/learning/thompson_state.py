"""Thompson sampling's memory as bytes, and back (LE-4, LE-7).

All of a file is checked before a sampler is built, so a damaged one leaves nothing half-loaded.
"""

import math
from typing import Annotated, NoReturn, TypeAlias

import msgspec

from pml.domain.record import Count, Record
from pml.errors import SavedStateError
from pml.learning.arms import Arm, ArmConfig
from pml.learning.saved import sealed, unsealed
from pml.learning.thompson import ThompsonSampler

FORM = "Thompson sampler"
VERSION = 1
_ROUNDING = 1 + 1e-9

_Weight: TypeAlias = Annotated[float, msgspec.Meta(ge=0)]
_Positive: TypeAlias = Annotated[float, msgspec.Meta(gt=0)]


class ArmState(Record, frozen=True, kw_only=True):
    """Discounted counts of one arm."""

    successes: _Weight = 0.0
    failures: _Weight = 0.0
    at: Count = 0
    """The number of outcomes of all arms at which the counts are worth this."""


class ThompsonState(Record, frozen=True, kw_only=True):
    """All that a `ThompsonSampler` knows."""

    half_life: _Positive | None
    """None: nothing is forgotten."""
    idle_half_life: _Positive | None
    prior_strength: _Positive
    prior_mean: _Positive
    exploration: _Weight
    total: Count
    root: ArmState
    servers: dict[str, ArmState]
    tools: dict[str, ArmState]


def export_state(sampler: ThompsonSampler) -> bytes:
    """The sampler as bytes; equal samplers give equal bytes."""
    config = sampler.config
    state = ThompsonState(
        half_life=_finite(config.half_life),
        idle_half_life=_finite(config.idle_half_life),
        prior_strength=config.prior_strength,
        prior_mean=config.prior_mean,
        exploration=config.exploration,
        total=sampler.total,
        root=_state(sampler.root),
        servers={name: _state(sampler.servers[name]) for name in sorted(sampler.servers)},
        tools={name: _state(sampler.tools[name]) for name in sorted(sampler.tools)},
    )
    return sealed(state, form=FORM, version=VERSION)


def import_state(text: bytes) -> ThompsonSampler:
    """A sampler that behaves as the exported one did.

    Raises:
        SavedStateError: not what `export_state` wrote, or of another version; says where.
    """
    return _sampler(unsealed(text, ThompsonState, form=FORM, version=VERSION))


def merged(one: ThompsonSampler, other: ThompsonSampler) -> ThompsonSampler:
    """What both know together, with the configuration of ``one``.

    Counts are added as they are worth now.  The two must have learned from different calls:
    what both have seen counts twice.
    """
    both = ThompsonSampler(one.config)
    both.total = both.root.at = one.total + other.total
    for source in (one, other):
        _add(both.root, source.root, source, both.total)
        for name, arm in source.servers.items():
            _add(both.server_arm(name), arm, source, both.total)
        for name, arm in source.tools.items():
            _add(both.tool_arm(name), arm, source, both.total)
    return both


def _add(to: Arm, arm: Arm, source: ThompsonSampler, now: int) -> None:
    kept = source.kept(arm)
    to.successes += arm.successes * kept
    to.failures += arm.failures * kept
    to.at = now


def _finite(half_life: float) -> float | None:
    return None if math.isinf(half_life) else half_life


def _state(arm: Arm) -> ArmState:
    return ArmState(successes=arm.successes, failures=arm.failures, at=arm.at)


def _sampler(state: ThompsonState) -> ThompsonSampler:
    arms = [("root", state.root), *state.servers.items(), *state.tools.items()]
    for name, arm in arms:
        if arm.at > state.total:
            _damaged(f"{name!r} was last seen at outcome {arm.at} of {state.total}")
        if not arm.successes + arm.failures <= state.total * _ROUNDING:
            _damaged(f"{name!r} counts more than all {state.total} outcomes")
    if state.root.at != state.total:
        _damaged(f"the root was last seen at outcome {state.root.at} of {state.total}")
    orphans = [tool for tool in state.tools if tool.partition(":")[0] not in state.servers]
    if orphans:
        _damaged(f"{orphans[0]!r} has no server")
    try:
        config = ArmConfig(
            half_life=math.inf if state.half_life is None else state.half_life,
            idle_half_life=math.inf if state.idle_half_life is None else state.idle_half_life,
            prior_strength=state.prior_strength,
            prior_mean=state.prior_mean,
            exploration=state.exploration,
        )
    except ValueError as exc:
        raise SavedStateError(FORM, str(exc)) from exc
    sampler = ThompsonSampler(config)
    sampler.total = state.total
    _restore(sampler.root, state.root)
    for name, arm in state.servers.items():
        _restore(sampler.server_arm(name), arm)
    for name, arm in state.tools.items():
        _restore(sampler.tool_arm(name), arm)
    return sampler


def _restore(arm: Arm, state: ArmState) -> None:
    arm.successes, arm.failures, arm.at = state.successes, state.failures, state.at


def _damaged(why: str) -> NoReturn:
    raise SavedStateError(FORM, why)
