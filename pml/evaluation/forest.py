"""A forest plot: each method's headline metric with its interval, best on top.

Position on a common scale is what people read most exactly (W. S.
Cleveland and R. McGill: Graphical Perception, JASA 79, 1984), so values are dots on one axis.
"""

import io
import re

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pml.domain.evaluation import MethodResult, MetricValue, ProblemResult
from pml.evaluation.style import BLUE, GREY, SKY, styled

_ROW_IN = 0.24
_HEAD_IN = 0.62
_WIDTH_IN = 6.4
_NAME_CHARS = 44


def headline(result: MethodResult, name: str) -> MetricValue | None:
    """The headline metric of a method; None where it has no value."""
    found = (metric for metric in result.metrics if metric.name == name)
    return next((metric for metric in found if metric.value is not None), None)


def forest_svg(problem: ProblemResult) -> str:
    """The plot as SVG that stands inside a page; empty where no method has a value.

    The same figures make the same text.
    """
    rows = [(each, headline(each, problem.headline)) for each in problem.methods]
    shown = [(each, metric) for each, metric in rows if metric is not None]
    if not shown:
        return ""
    with styled():
        figure = Figure(figsize=(_WIDTH_IN, _HEAD_IN + _ROW_IN * len(shown)))
        figure.set_layout_engine("constrained")
        draw_forest(figure.subplots(), problem)
        return _as_svg(figure)


def draw_forest(axes: Axes, problem: ProblemResult) -> None:
    """Draw into given axes, for notebooks."""
    rows = [(each, headline(each, problem.headline)) for each in problem.methods]
    names: list[str] = []
    for each, metric in rows:
        if metric is None or metric.value is None:
            continue
        colour = BLUE if each.best else SKY if each.as_good else GREY
        style = ":" if each.bound else "-"
        low = metric.value if metric.low is None else metric.low
        high = metric.value if metric.high is None else metric.high
        axes.plot([low, high], [len(names)] * 2, color=colour, linestyle=style)
        axes.plot([metric.value], [len(names)], "o", color=colour, markersize=5)
        names.append(_shortened(each.method))
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    better = "more is better" if problem.higher_is_better else "less is better"
    axes.set_xlabel(f"{problem.headline} with 95 % interval; {better}")


def _shortened(name: str) -> str:
    """Long names are cut; matplotlib would read dollars as formulas."""
    cut = name if len(name) <= _NAME_CHARS else name[: _NAME_CHARS - 3] + "..."
    return cut.replace("$", r"\$")


def _as_svg(figure: Figure) -> str:
    """Without the head of a file, and with letters as letters."""
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        nameless = {"Date": None, "Creator": None}
        figure.savefig(text, format="svg", metadata=nameless, transparent=True)
    whole = text.getvalue()
    drawn = whole[whole.index("<svg") :]
    return re.sub(r"<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
