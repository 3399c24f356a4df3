"""The page holds every figure, and nothing from outside (RW-6)."""

import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec

from pml.domain.evaluation import (
    Against,
    DatasetFacts,
    Evaluation,
    MethodResult,
    MetricValue,
    ProblemResult,
)
from pml.evaluation.figures import against, around, figure, number, p_value
from pml.evaluation.forest import forest_svg
from pml.evaluation.page import page
from tests.evaluation.guessing import FAILING
from tests.evaluation.test_run import report


def made(name: str = "set", method: str = "m") -> Evaluation:
    """A report of one problem."""
    metric = MetricValue(name="right", value=0.5, low=0.4, high=0.625)
    problem = ProblemResult(
        dataset=name,
        task="t",
        title="Title",
        headline="right",
        higher_is_better=True,
        cases=9,
        groups=9,
        methods=(MethodResult(method=method, seconds=1.5, metrics=(metric,), best=True),),
    )
    return Evaluation(
        pml_version="1",
        python_version="3",
        libraries={},
        seed=0,
        draws=10,
        started_at_ms=0,
        seconds=1.0,
        datasets=(DatasetFacts(name=name, files=(), tools=1, workflows=1, calls=0, notes=(name,)),),
        problems=(problem,),
    )


class _Tags(HTMLParser):
    """What a page opens and does not close, and what it links to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.targets: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.targets += [value or "" for key, value in attrs if key.endswith(("href", "src"))]
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parsed(text: str) -> _Tags:
    """The page's tags."""
    tags = _Tags()
    tags.feed(text)
    assert tags.open == []
    return tags


def test_a_page_is_whole_and_takes_nothing_from_outside(tmp_path: Path) -> None:
    text = page(report(tmp_path, failing=FAILING))

    tags = parsed(text)
    assert all(target.startswith("#") for target in tags.targets)
    assert not tags.seen & {"script", "link", "img", "iframe"}
    assert "url(http" not in text
    assert text.count("<svg") == 2
    assert text.count('class="best"') == 3
    assert "RuntimeError: no &lt;idea&gt;" in text


def test_texts_of_others_stay_texts() -> None:
    bad = '<script>alert("x")</script>&amp;'

    tags = parsed(page(made(name=bad, method=bad)))

    assert "script" not in tags.seen


def test_an_interrupted_report_says_so() -> None:
    whole = made()
    stopped = msgspec.structs.replace(whole, interrupted=True)

    assert "interrupted" in page(stopped)
    assert "interrupted" not in page(whole)


def test_a_plot_is_the_same_each_time_and_names_its_methods() -> None:
    (problem,) = made(method="bm25 $x$").problems

    svg = forest_svg(problem)

    assert svg == forest_svg(problem)
    assert "bm25 $x$" in svg
    assert re.search(r"right with 95 % interval; more is better", svg)
    assert forest_svg(msgspec.structs.replace(problem, methods=())) == ""


def test_figures_have_three_digits() -> None:
    metric = MetricValue(name="x", value=0.5, low=-0.0123, high=1.0)

    assert [number(each) for each in (0.25, -0.5, 1.0, 12.3456, 0.0)] == [
        ".250",
        "-.500",
        "1.000",
        "12.346",
        ".000",
    ]
    assert figure(metric) == ".500"
    assert figure(MetricValue(name="x", value=None)) == "-"
    assert around(metric) == "-.012 to 1.000"
    assert around(MetricValue(name="x", value=1.0)) == ""
    assert (p_value(0.0004), p_value(0.0234)) == ("p < .001", "p = .023")
    assert against(Against(other="o", difference=0.1, p=0.01, p_holm=0.02)) == "+.100 (p = .020)"
    assert against(None) == ""
