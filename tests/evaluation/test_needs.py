"""What past workflows tell of declared dependencies (LE-6: costs from reliability)."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pml.evaluation.dataset import Dependency, Workflow
from pml.evaluation.needs import NEEDED, declared, learned

tools = st.sampled_from("abcd")
dependencies = st.lists(
    st.builds(
        lambda provider, consumer, kind: Dependency(
            provider=provider, consumer=consumer, type=kind
        ),
        tools,
        tools,
        st.sampled_from(["TOOL", "PARAMETER"]),
    ),
    max_size=8,
)
nodes = st.sets(tools, min_size=1).map(lambda chosen: tuple(sorted(chosen)))


def workflow(used: tuple[str, ...]) -> Workflow:
    return Workflow(id="".join(used), intent="", nodes=used)


pasts = st.lists(nodes, max_size=6)


@given(dependencies)
def test_without_past_workflows_everything_declared_is_needed(found: list[Dependency]) -> None:
    assert learned(found, []) == declared(found)
    assert all(chance == 1 for needs in declared(found).values() for chance in needs.values())


@given(dependencies, pasts)
def test_chances_are_chances_of_the_declared_pairs_and_no_tool_needs_itself(
    found: list[Dependency], past: list[tuple[str, ...]]
) -> None:
    needs = learned(found, map(workflow, past))
    pairs = {(one.consumer, one.provider) for one in found if one.consumer != one.provider}
    assert {(consumer, provider) for consumer in needs for provider in needs[consumer]} == pairs
    assert all(0 <= chance <= 1 for each in needs.values() for chance in each.values())


@given(dependencies, pasts)
def test_asking_again_for_the_same_teaches_nothing(
    found: list[Dependency], past: list[tuple[str, ...]]
) -> None:
    known = list(map(workflow, past))
    again = [replace(one, id=f"{one.id} again") for one in known]
    assert learned(found, [*known, *again]) == learned(found, known)


@given(dependencies, pasts, nodes)
def test_a_workflow_that_holds_both_makes_no_dependency_of_theirs_less_likely(
    found: list[Dependency], past: list[tuple[str, ...]], both: tuple[str, ...]
) -> None:
    before = learned(found, map(workflow, past))
    after = learned(found, map(workflow, [*past, both]))
    for consumer in both:
        for provider in set(both) & set(before.get(consumer, {})):
            assert after[consumer][provider] >= before[consumer][provider] - 1e-12


def test_a_dependency_that_was_never_fetched_is_not_needed() -> None:
    lamp = Dependency(provider="lamp", consumer="open", type="TOOL")
    key = Dependency(provider="key", consumer="open", type="TOOL")
    needs = learned([lamp, key], [workflow(("key", "open"))])
    assert needs["open"]["key"] > NEEDED >= needs["open"]["lamp"]


def test_an_unseen_consumer_goes_by_what_others_fetched_of_the_same_provider() -> None:
    found = [Dependency(provider="lamp", consumer=one, type="TOOL") for one in ("a", "b", "c", "d")]
    needs = learned(found, [workflow(("a",)), workflow(("b",)), workflow(("c",))])
    assert needs["d"]["lamp"] == 0.25
    other = replace(found[3], type="PARAMETER")
    assert learned([*found[:3], other], [workflow(("a",))])["d"]["lamp"] == 1.0
