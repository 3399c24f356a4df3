"""Rules for links, provides edges and outcomes, against their definitions (LE-8, SA-10)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pml.evaluation.dataset import Call, Tool
from pml.evaluation.fields import field_names
from pml.evaluation.methods import links_rules, outcome_rates, provides_rules
from pml.evaluation.questions import LinksQuestion, OutcomesQuestion, ProvidesQuestion
from tests.evaluation.sequences import call, flow, graphs, tools

Graph = tuple[str, list[tuple[int, int]]]


def links_question(train: list[Graph], nodes: str, catalog: tuple[Tool, ...] = ()) -> LinksQuestion:
    return LinksQuestion(
        tools=catalog or tools(),
        train=tuple(flow(*graph, key=str(at)) for at, graph in enumerate(train)),
        nodes=(tuple(nodes),),
    )


@given(train=st.lists(graphs(), max_size=4), nodes=st.text("abc", max_size=4))
def test_seen_links_are_those_between_the_tools(train: list[Graph], nodes: str) -> None:
    question = links_question(train, nodes)
    seen = {link for workflow in question.train for link in workflow.links}
    expected = frozenset((a, b) for a in nodes for b in nodes if a != b and (a, b) in seen)
    assert links_rules.SeenLinks().answers(question) == ([expected] if seen else None)


@given(train=st.lists(graphs(), max_size=4), nodes=st.text("abc", max_size=4))
def test_from_each_tool_goes_at_most_one_link_and_none_was_seen_more_often(
    train: list[Graph], nodes: str
) -> None:
    question = links_question(train, nodes)
    links = [link for workflow in question.train for link in workflow.links]
    seen, found = links_rules.SeenLinks(), links_rules.BestSuccessor().answers(question)
    assert (found is None) == (not links)
    for chosen, possible in zip(found or (), seen.answers(question) or (), strict=True):
        assert {a for a, _ in chosen} == {a for a, _ in possible}
        assert len({a for a, _ in chosen}) == len(chosen)
        assert all(
            links.count((a, b)) >= max(links.count(other) for other in possible if other[0] == a)
            for a, b in chosen
        )


def test_the_gold_order_links_neighbours() -> None:
    (found,) = links_rules.GoldOrder().answers(links_question([], "cab"))
    assert found == {("c", "a"), ("a", "b")}


@given(nodes=st.permutations("abc"))
def test_no_rule_but_that_named_after_it_reads_the_order(nodes: list[str]) -> None:
    train: list[Graph] = [("abc", [(0, 1), (1, 2)]), ("ca", [(0, 1)])]
    catalog = (tool("a", given=("x",)), tool("b", taken=("x",)), tool("c", given=("x",)))
    for rule in (links_rules.SeenLinks(), links_rules.BestSuccessor(), links_rules.SharedFields()):
        mixed = rule.answers(links_question(train, "".join(nodes), catalog))
        assert mixed == rule.answers(links_question(train, "abc", catalog))


def tool(name: str, *, given: tuple[str, ...] = (), taken: tuple[str, ...] = ()) -> Tool:
    """With a result of these fields and arguments of those names."""

    def schema(names: tuple[str, ...]) -> Mapping[str, Any] | None:
        return {"type": "object", "properties": {name: {} for name in names}} if names else None

    return Tool(
        id=name, server="s", name=name, input_schema=schema(taken), output_schema=schema(given)
    )


CATALOG = (
    tool("a", given=("User_ID", "name")),
    tool("b", taken=("userId",), given=("total",)),
    tool("c", taken=("total", "day")),
)


def test_fields_are_shared_by_name_without_case_and_punctuation() -> None:
    (found,) = links_rules.SharedFields().answers(links_question([], "abc", CATALOG)) or ()
    assert found == {("a", "b"), ("b", "c")}


def test_a_workflow_with_an_unknown_tool_gets_no_links_by_fields() -> None:
    assert links_rules.SharedFields().answers(links_question([], "abz", CATALOG)) == [frozenset()]


def test_without_results_there_is_nothing_to_share() -> None:
    assert links_rules.SharedFields().answers(links_question([], "ab")) is None
    asked = ProvidesQuestion(pairs=((tools("a")[0], tools("b")[0]),))
    assert provides_rules.AnySharedName().answers(asked) is None


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        (None, set()),
        ({}, set()),
        ({"properties": {"A-b": {}, "c": {}}}, {"ab", "c"}),
        ({"userId": {}}, {"userid"}),
        ({"properties": None}, set()),
        ({"properties": ["a"]}, set()),
    ],
)
def test_names_of_fields_are_read_from_any_schema(
    schema: Mapping[str, Any] | None, names: set[str]
) -> None:
    assert field_names(schema) == names


def test_pairs_share_fields_in_the_direction_of_the_pair() -> None:
    a, b, c = CATALOG
    question = ProvidesQuestion(pairs=((a, b), (b, a), (b, c), (a, c)))
    found = provides_rules.AnySharedName().answers(question)
    assert found is not None
    assert found.tolist() == [1, 0, 1, 0]
    assert provides_rules.AllPairs().answers(question).tolist() == [1, 1, 1, 1]


def test_the_matcher_draws_the_edges_of_the_product() -> None:
    a, b, c = (
        replace(tool("get_user", given=("user_id", "name")), server="crm:eu"),
        tool("delete_user", taken=("user_id",)),
        tool("wait", taken=("seconds",)),
    )
    question = ProvidesQuestion(pairs=((a, b), (a, c), (b, c), (a, a)))
    assert provides_rules.Matcher().answers(question).tolist() == [1, 0, 0, 0]


def test_the_matcher_reads_a_schema_that_is_only_its_properties() -> None:
    plain = Tool(id="a", server="", name="find", output_schema={"user_id": {"type": "string"}})
    question = ProvidesQuestion(pairs=((plain, tool("delete_user", taken=("user_id",))),))
    assert provides_rules.Matcher().answers(question).tolist() == [1]


def outcomes_question(train: list[Call], asked: str) -> OutcomesQuestion:
    calls = tuple(call("asked", step, name, ok=None) for step, name in enumerate(asked))
    return OutcomesQuestion(
        tools=tools(), train=tuple(train), calls=calls, before=tuple(() for _ in calls)
    )


TRAIN = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([True, False, None])), max_size=9)


@given(train=TRAIN)
def test_rates_are_shares_of_known_calls(train: list[tuple[str, bool | None]]) -> None:
    calls = [call("e", step, name, ok) for step, (name, ok) in enumerate(train)]
    question = outcomes_question(calls, "abz")
    known = [not ok for _, ok in train if ok is not None]
    rate = np.mean(known) if known else 0.5
    assert outcome_rates.GlobalRate().answers(question) == pytest.approx([rate] * 3)
    expected = []
    for name in "abz":
        own = [not ok for tool_id, ok in train if tool_id == name and ok is not None]
        expected.append((sum(own) + 4 * rate) / (len(own) + 4))
    assert outcome_rates.ToolPosterior().answers(question) == pytest.approx(expected)
