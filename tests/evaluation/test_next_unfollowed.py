"""What comes next after a call that nobody has gone on from, where servers are new (LE-5)."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float32

from pml.discovery.next_tool import STATS
from pml.embedding.static import default_encoder
from pml.evaluation.methods.next_shgat import METHODS, NextShgat
from pml.evaluation.next_folds import NEXT, Past
from pml.evaluation.next_training import LostExamples, NextSettings, NextViews
from pml.evaluation.next_unfollowed import chosen, completed, unfollowed
from pml.evaluation.next_weighed import Ranker, every, weighed
from pml.evaluation.questions import NextQuestion, Point
from pml.models.inputs import Queries
from tests.evaluation.catalogues import NEW, SERVERS, TOOLS, USED, VERBS, runs


def question(*asked: tuple[tuple[str, ...], str]) -> NextQuestion:
    """Counts are asked before texts, as they tell as much."""
    return NextQuestion(
        tools=TOOLS,
        train=tuple(run.nodes for run in runs()),
        past_intents=tuple(run.intent for run in runs()),
        points=tuple(Point(prefix=prefix, intent=intent) for prefix, intent in asked),
    )


def views_of(asked: NextQuestion, settings: NextSettings | None = None) -> NextViews:
    return NextViews(asked, settings or NextSettings(), default_encoder())


def lost() -> tuple[LostExamples, ...]:
    return views_of(question()).lost(SERVERS)


def queries(*times: float) -> Queries:
    """Queries of two tools, by how often the last call was followed."""
    stats = np.ones((len(times), len(STATS)), np.float32)
    stats[:, STATS.index("times of the last call")] = times
    return Queries(
        vectors=np.zeros((len(times), 1), np.float32),
        evidence=np.zeros((len(times), 2, 1), np.float32),
        stats=stats,
    )


def answering(value: float) -> Ranker:
    """Scores every tool alike."""

    def scores(asked: Queries) -> Float32[np.ndarray, "queries candidates"]:
        return np.full(asked.evidence.shape[:2], value, np.float32)

    return scores


@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.name)
def test_after_a_call_of_a_new_server_comes_what_its_texts_and_its_server_say(
    method: NextShgat,
) -> None:
    """Counts would say what is called most, after whatever it was."""
    asked = [
        ((f"{server}:find",), f"{verb} a {server * 3} soon") for server in NEW for verb in VERBS
    ]
    rankings = method.answers(question(*asked)) or ()
    right = [f"{prefix[0][0]}:{intent.split()[0]}" for prefix, intent in asked]
    assert [ranking[0] for ranking in rankings] == right


def test_after_a_call_that_was_followed_it_says_what_it_would_say_without_new_servers() -> None:
    asked = [((f"{server}:find",), f"drop a {server * 3} soon") for server in USED]
    with_new = METHODS[1].answers(question(*asked)) or ()
    known = tuple(tool for tool in TOOLS if tool.server in USED)
    without = METHODS[1].answers(replace(question(*asked), tools=known)) or ()
    assert [ranking[0] for ranking in with_new] == [ranking[0] for ranking in without]


def test_nothing_is_lost_where_no_server_is_new() -> None:
    known = tuple(tool for tool in TOOLS if tool.server in USED)
    asked = replace(question(), tools=known)
    assert views_of(asked).lost({tool.id: tool.server for tool in known}) == ()


def test_every_part_is_asked_for_its_own_servers_which_its_runs_do_not_know() -> None:
    parts = lost()
    servers = [
        [TOOLS[at].server for places in part.asked.targets.positives for at in places.tolist()]
        for part in parts
    ]
    of_parts = [set(each) for each in servers]
    assert len(set[str]().union(*of_parts)) == sum(map(len, of_parts)) > len(parts)
    pairs = [
        set(zip(each, part.servers.tolist(), strict=True))
        for each, part in zip(servers, parts, strict=True)
    ]
    assert list(map(len, pairs)) == list(map(len, of_parts))
    assert all(unfollowed(every(part.asked)).all() for part in parts)


def test_of_each_part_only_so_many_places_are_asked() -> None:
    parts = views_of(question(), NextSettings(most_lost=7)).lost(SERVERS)
    assert [len(part.asked.targets) for part in parts] == [7, 7, 7]


def test_too_few_parts_or_intents_tell_nothing() -> None:
    few = views_of(question(), NextSettings(most_lost=6)).lost(SERVERS)
    assert chosen(lost()[:1]) is None
    assert chosen(few) is None
    assert chosen(lost()) is not None


def test_what_is_chosen_beats_counts_and_not_the_truth() -> None:
    parts = lost()
    found = chosen(parts)
    assert found is not None
    assert found.beats(parts[0].asked.fallbacks["ppm"])
    assert not found.beats(found.ranker)


def test_lost_examples_weigh_their_share_of_all() -> None:
    views = views_of(question())
    folds, asked = views.folds(), [part.asked for part in lost()]
    queries = every(asked[0])

    def chance(ranker: Ranker) -> float:
        """Of what is right, geometric mean over places."""
        scores = ranker(queries).astype(np.float64)
        chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        right = [places[0] for places in asked[0].targets.positives]
        return float(np.exp(np.log(chances[np.arange(len(right)), right]).mean()))

    some = sum(len(part.targets) for part in asked)
    share = some / (some + sum(len(fold.tasks[NEXT].targets) for fold in folds))
    plain = weighed(folds, asked)(queries)
    assert weighed(folds, asked, share=share)(queries) == pytest.approx(plain, abs=1e-3)
    found = [chance(weighed(folds, asked, share=one)) for one in (0.01, 0.3, 0.9)]
    assert found == sorted(found)
    assert found[-1] > found[0] + 0.01


@given(st.lists(st.sampled_from([0.0, 0.1, 1.0]), min_size=1, max_size=5))
def test_unfollowed_places_are_answered_by_the_one_and_all_others_by_the_other(
    times: list[float],
) -> None:
    scores = completed(answering(1), answering(2))(queries(*times))
    assert scores[:, 0].tolist() == [2 if time == 0 else 1 for time in times]


@given(st.lists(st.sampled_from(["do it", "Do  it", "go", "stay"]), max_size=6))
def test_what_is_known_of_some_intents_and_without_them_is_all(intents: list[str]) -> None:
    past = Past(sequences=tuple((f"t{at}",) for at in range(len(intents))), intents=tuple(intents))
    some = frozenset({"do it", "stay"})
    kept, rest = past.only(some), past.without(some)
    assert sorted(kept.sequences + rest.sequences) == sorted(past.sequences)
    assert {intent.lower().replace("  ", " ") for intent in kept.intents} <= some
    assert set(rest.intents) <= {"go"}
