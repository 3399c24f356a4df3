"""How plots look, in notebooks and in reports: one place, so that they look alike.

Colours are those of Okabe and Ito ("Color Universal Design", jfly.uni-koeln.de/color, 2008),
which people with the usual kinds of colour blindness tell apart; the darkest come first.  Lines
are to be labelled where they end (`label_line`), so that no legend has to be matched.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY = COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#767676",
)
"""In the order of use; grey is for what only stands for comparison."""

STYLE: Final[Mapping[Any, Any]] = MappingProxyType(
    {
        "figure.figsize": (7.2, 3.6),
        "figure.dpi": 96,
        "figure.constrained_layout.use": True,
        "savefig.dpi": 96,
        "font.size": 10,
        "axes.titlesize": 11,
        "axes.titlelocation": "left",
        "axes.labelcolor": "#333333",
        "axes.edgecolor": "#999999",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.prop_cycle": cycler(color=COLOURS),
        "grid.color": "#e6e6e6",
        "grid.linewidth": 0.8,
        "xtick.color": "#555555",
        "ytick.color": "#555555",
        "lines.linewidth": 1.8,
        "legend.frameon": False,
        "svg.hashsalt": "pml",  # the same plot is the same file
    }
)
"""Settings of matplotlib that differ from its own."""


def use_style() -> None:
    """Draw all that follows in this process so: for notebooks."""
    mpl.rcParams.update(STYLE)


@contextmanager
def styled() -> Iterator[None]:
    """Draw so within the block: for programs, which may draw otherwise elsewhere."""
    with mpl.rc_context(dict(STYLE)):
        yield


def label_line(axes: Axes, text: str, *, x: float, y: float, colour: str) -> None:
    """Write what a line is beside its end, in its colour."""
    axes.annotate(
        text,
        (x, y),
        xytext=(5, 0),
        textcoords="offset points",
        color=colour,
        va="center",
        annotation_clip=False,
    )
