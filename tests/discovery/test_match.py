"""An intent alone runs a capability only where it is clear which one is meant (MCP-2)."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pml.discovery.match import clear_match, confidence, similarity
from pml.discovery.phrases import phrases
from pml.domain.capability import normalised_intent
from tests.discovery.entries import capability, index_of, past, sentences
from tests.discovery.intent_grammar import wishes

INTENTS = (
    "write the report",
    "convert the csv file to json",
    "count the lines of every file in a folder",
    "email the sales report of 2023 to anna",
)
INDEX = index_of(
    capability(f"cap_{n}", intent, name=f"name_{n}") for n, intent in enumerate(INTENTS)
)


@pytest.mark.parametrize(
    ("intent", "capability_id"),
    [
        ("name_1", "cap_1"),
        ("capabilities.name_1", "cap_1"),
        ("cap_1", "cap_1"),
        ("  Write  THE report! ", "cap_0"),
        ("writing reports", "cap_0"),
        ("Please write a report now", "cap_0"),
        ("In a folder: count the lines of every file.", "cap_2"),
        ("email sales reports of 2023 to Anna, please", "cap_3"),
        ("convert csv files to json", "cap_1"),
    ],
)
def test_what_says_the_same_is_clear(intent: str, capability_id: str) -> None:
    match = clear_match(INDEX, intent)
    assert match is not None
    assert match.capability_id == capability_id
    assert match.confidence == pytest.approx(1)


@pytest.mark.parametrize(
    "intent",
    [
        "delete the report",
        "do not write the report",
        "write the report without numbers",
        "write and delete the report",
        "convert the json file to csv",
        "convert the csv file from json",
        "count the lines of every file except logs in a folder",
        "count the words of every file in a folder",
        "email the sales report of 2024 to anna",
        "email the sales report of 2023 to bob",
        "email the sales report to anna",
        "email anna the sales report of 2023 to",
        "email the report sales of 2023 to anna",
        "count the lines of every file in a folder or disk",
        "count the lines of every file in a folder if possible",
        "report",
        "something else entirely",
        "",
    ],
)
def test_what_says_something_else_is_a_question(intent: str) -> None:
    assert clear_match(INDEX, intent) is None


@given(st.integers(0, 10_000))
@settings(max_examples=5)
def test_of_100_capabilities_each_runs_for_its_words_in_any_order_and_for_no_other_wish(
    seed: int,
) -> None:
    every = wishes(seed, 200)
    known, unknown = every[:100], every[100:]
    index = index_of(capability(f"cap_{n}", wish.intent) for n, wish in enumerate(known))
    for n, wish in enumerate(known):
        for text in wish.same_words():
            match = clear_match(index, text)
            assert match is not None, text
            assert match.capability_id == f"cap_{n}"
    ran = [text for wish in unknown for text in wish.paraphrases() if clear_match(index, text)]
    assert ran == []


def test_politeness_alone_is_a_question() -> None:
    assert clear_match(index_of([capability("cap_1", "hello again")]), "hello, now") is None


def test_one_intent_of_two_capabilities_is_a_question_unless_one_never_succeeded() -> None:
    first, second = capability("cap_1", "sum it"), capability("cap_2", "Sum it.")
    assert clear_match(index_of([first, second]), "sum it") is None
    failed = replace(second, intents=(past("cap_2", "Sum it.", succeeded=0, last=False),))
    match = clear_match(index_of([first, failed]), "sum it")
    assert match is not None
    assert match.capability_id == "cap_1"


def test_an_intent_that_never_succeeded_is_a_question_even_if_another_way_to_say_it_did() -> None:
    entry = capability("cap_1")
    intents = (
        past("cap_1", "sum the lines", succeeded=0, last=False),
        past("cap_1", "sum lines"),
    )
    index = index_of([replace(entry, intents=intents)])
    assert clear_match(index, "sum the lines") is None
    assert clear_match(index, "sum lines") is not None


def test_one_failure_with_wrong_arguments_does_not_take_an_intent_its_meaning() -> None:
    failed = (past("cap_1", "sum the lines", succeeded=3, last=False),)
    index = index_of([replace(capability("cap_1"), intents=failed)])
    assert clear_match(index, "sum the lines") is not None


def test_an_intent_that_two_capabilities_fit_equally_well_is_a_question() -> None:
    index = index_of([capability("cap_1", "sum the lines"), capability("cap_2", "sum our lines")])
    assert clear_match(index, "summing the lines") is None


def test_confidence_says_how_well_the_best_fits_clear_or_not() -> None:
    unclear = confidence(INDEX, "email the sales report of 2024 to anna")
    assert unclear is not None
    assert unclear.capability_id == "cap_3"
    assert 0 < unclear.confidence < 1
    assert INTENTS[3] in unclear.why
    assert confidence(INDEX, "something else entirely") is None
    assert confidence(INDEX, "name_2") == clear_match(INDEX, "name_2")


@given(sentences, sentences)
def test_similarity_is_symmetric_and_1_for_the_same_phrases(one: str, other: str) -> None:
    there = similarity(INDEX, one, other)
    assert there == pytest.approx(similarity(INDEX, other, one))
    assert 0 <= there <= 1
    assert there == pytest.approx(1) or not phrases(one) or phrases(one) != phrases(other)


@given(sentences, sentences, st.sampled_from(["not", "without", "2025", "delete", "if"]))
def test_a_word_more_makes_other_phrases(one: str, other: str, word: str) -> None:
    assume(word not in one and word not in other)
    assert phrases(f"{one} {word}") != phrases(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("count lines in the folder", "In a folder, counting line"),
        ("Anna's report", "anna report"),
        ("set the 7 AM alarm", "set 7 am alarm"),
        ("I'd like to print tea", "Hello, could you please print tea?"),
        ("rename 1,000 files", "rename 1,000 file"),
        ('email the "report" (now) to bob@x.com.', "Email reports to bob@x.com"),
        ("In 2023, count `*.csv`.", "count *.csv in 2023"),
    ],
)
def test_what_does_not_count_in_a_phrase(one: str, other: str) -> None:
    assert phrases(one) == phrases(other)


@pytest.mark.parametrize(
    ("known", "other"),
    [
        ("orders with amount > 100", "orders with amount < 100"),
        ("orders with amount > 100", "orders with amount 100"),
        ("set balance to 5", "set balance to -5"),
        ("set balance to 5", "set balance to 5%"),
        ("pay 100 eur", "pay -100 eur"),
        ("pay 100 eur", "pay - 100 eur"),
        ("set temperature to 1.5", "set temperature to 1,5"),
        ("set temperature to 1.5", "set temperature to 1:5"),
        ("set temperature to 1.5", "set temperature to 1 5"),
        ("remove C files", "remove C++ files"),
        ("remove C files", "remove C# files"),
        ("remove C files", "remove !C files"),
        ("remove C files", "remove *.C files"),
        ("remove C", "remove C:"),
        ("delete files in /tmp/a", "delete files in ../tmp/a"),
        ("delete files in /tmp/a", "delete files in ~/tmp/a"),
        ("delete files in /tmp/a", "delete files in /tmp/a/*"),
        ("delete files in /tmp/a", "delete files in /tmp/.a"),
        ("delete files in /tmp/a", "delete files in a/tmp"),
        ("delete files in /tmp/a", "delete files in /tmp/A"),
        ("delete files in /tmp/a", "delete files in /tmp/a?"),
        ("delete files in /tmp/a", "delete files in /tmp/"),
        ("delete files", "delete files .."),
        ("log main", "log main.."),
        ("email bob@x.com", "email bob+x@com"),
        ("send me the report", "send you the report"),
        ("send me the report", "send my the report"),
        ("send me the report", "send you/my report"),
        ("delete branch", "delete branch a"),
        ("sum grade students", "sum grade A students"),
        ("print world", "print hello world"),
        ("delete logs", 'delete "the" logs'),
        ('rename "a b" c', 'rename a "b c"'),
        ("delete (red or blue) and green", "delete red or (blue and green)"),
        ("stop it, copy it", "copy it, stop it"),
        (
            "send news from anna in rome to bob in oslo",
            "send news from anna in oslo to bob in rome",
        ),
        ("delete müller", "delete muller"),
        ("tell the team", "tell the team data"),
    ],
)
def test_neither_runs_for_the_other(known: str, other: str) -> None:
    for ran, said in ((known, other), (other, known)):
        index = index_of([capability("cap_1", ran)])
        assert clear_match(index, ran) is not None
        assert clear_match(index, said) is None


signs = st.text("aAbX10-+/#%*<>=~_@$&|^\\{}[]", min_size=1, max_size=4)


@given(signs, signs, st.sampled_from(["set {} now", "move x to {}", "{}: print it", "print {}."]))
def test_what_is_not_a_word_is_compared_as_it_was_written(one: str, other: str, frame: str) -> None:
    assume(one != other and not (one.isalpha() and other.isalpha()))
    assert phrases(frame.format(one)) != phrases(frame.format(other))
    assert normalised_intent(frame.format(one)) != normalised_intent(frame.format(other))


@given(sentences, signs, st.sampled_from(["", ".", "!", "?!"]))
def test_spelling_that_does_not_count_neither_changes_the_key_nor_the_phrases(
    sentence: str, token: str, end: str
) -> None:
    one = f"{token} {sentence} it"
    other = f"  {token}  {sentence.upper()} IT{end} "
    assert normalised_intent(one) == normalised_intent(other)
    assert phrases(one) == phrases(other)


@given(st.text("aA1.!?/'\" ", max_size=12))
def test_the_key_of_a_key_is_the_key(intent: str) -> None:
    key = normalised_intent(intent)
    assert normalised_intent(key) == key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("delete ..", "delete"),
        ("delete .", "delete"),
        ("delete /tmp/A", "delete /tmp/a"),
        ("delete /tmp/a?", "delete /tmp/a"),
        ("delete a/", "delete a/."),
        ("delete -R", "delete -r"),
    ],
)
def test_intents_that_do_not_count_as_the_same(one: str, other: str) -> None:
    assert normalised_intent(one) != normalised_intent(other)


@pytest.mark.parametrize(
    "name",
    ["fs.read", "fs:read", "fs read", "FS_READ", "`fs_read`", "fs_read()", "mcp.fs_read", "CAP_1"],
)
def test_what_only_resembles_a_name_does_not_run_it(name: str) -> None:
    index = index_of([capability("cap_1", name="fs_read"), capability("cap_2", name="fs_write")])
    assert clear_match(index, name) is None
    for exact in ("fs_read", " capabilities.fs_read\n", "cap_1"):
        assert index.capabilities_named(exact) == ("cap_1",)


def test_a_match_names_the_past_intent_that_it_is_like() -> None:
    old, new = past("cap_1", "sum the lines", at_ms=1), past("cap_1", "sum lines", at_ms=2)
    index = index_of([replace(capability("cap_1", name="sums"), intents=(old, new))])
    for intent, like in (
        ("sums", None),
        ("Sum the lines.", old),
        ("summing a line", new),  # as like one as the other: the latest
    ):
        match = clear_match(index, intent)
        assert match is not None
        assert match.past == like
    unclear = confidence(index, "sum lines quickly")
    assert unclear is not None
    assert unclear.past == new
