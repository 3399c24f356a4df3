"""`pml sandbox-selftest` proves every guard (EX-2)."""

import pytest

from pml.runtime.reaper import Reaper
from pml.runtime.sandbox.guards import Guards
from pml.runtime.sandbox.probes import PROBES
from pml.runtime.sandbox.selftest import applies, selftest, summary
from pml.runtime.sandbox.tier import Tier

_PROVEN_ELSEWHERE = {"token", "parent_death"}
"""A connection is tried by the self-test itself, our own death by tests/runtime/test_reaper.py."""


@pytest.mark.timeout(300)
async def test_every_attack_is_refused_and_succeeds_without_its_guard(reaper: Reaper) -> None:
    results = [result async for result in selftest(reaper)]
    assert [result for result in results if not result.passed] == []
    assert len(results) >= 100
    assert all(result.detail for result in results)


def test_every_guard_has_an_attack() -> None:
    assert {probe.guard for probe in PROBES} | _PROVEN_ELSEWHERE == set(Guards.__struct_fields__)


def test_names_are_unique_and_the_summary_says_what_is_missing() -> None:
    assert len({probe.name for probe in PROBES}) == len(PROBES)
    weak = Tier(own_uid=False, tmpfs=True, reason="only root can give one")
    left_out = [probe for probe in PROBES if not applies(probe, weak)]
    assert f"{len(left_out)} probes left out" in summary([], weak)
