"""The tables and plots of README.md."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from results import Result
from training import STRATEGIES, UNIFORM

from pml.evaluation.style import BLUE, GREY, ORANGE, VERMILION, styled

LEVEL = 0.05
"""Of the tests, all together (Holm)."""
OTHERS = [one.name for one in STRATEGIES if one is not UNIFORM]
COLOURS = {
    UNIFORM.name: GREY,
    "PER, no weights": VERMILION,
    "PER (LE-3)": BLUE,
    "surprise on arrival (LE-1)": ORANGE,
}
"""Of the strategies that are drawn."""
Setting = tuple[str, str, str]


def by_setting(found: Iterable[Result]) -> dict[Setting, dict[str, Result]]:
    """Results by setting and strategy."""
    table: dict[Setting, dict[str, Result]] = {}
    for one in found:
        table.setdefault(one.setting, {})[one.strategy] = one
    return table


def significant(found: Sequence[Result], metric: str) -> set[tuple[Setting, str]]:
    """Settings and strategies that differ from uniform, by Holm's test over all of them."""
    tested = [one for one in found if metric in one.difference and one.strategy != UNIFORM.name]
    differ = set()
    for place, one in enumerate(sorted(tested, key=lambda one: one.difference[metric][3])):
        if one.difference[metric][3] > LEVEL / (len(tested) - place):
            break
        differ.add((one.setting, one.strategy))
    return differ


def tables(found: Sequence[Result]) -> str:
    """All tables, as markdown."""
    parts = []
    for metric, lower_is_better in (("log loss", True), ("AUC", False), ("hit1", False)):
        parts.append(differences(found, metric, lower_is_better=lower_is_better))
    return "\n\n".join([*parts, calibration(found), rates(found)])


def differences(found: Sequence[Result], metric: str, *, lower_is_better: bool) -> str:
    """What uniform replay reaches, and how far the others are from it."""
    differ = significant(found, metric)
    rows, counts = [], Counter[tuple[str, bool]]()
    for setting, results in by_setting(found).items():
        if metric not in results[UNIFORM.name].reached:
            continue
        cells = [f"{results[UNIFORM.name].reached[metric]:.3f}"]
        for name in OTHERS:
            if name not in results:
                cells.append("")
                continue
            mean, low, high, _ = results[name].difference[metric]
            better = (mean < 0) == lower_is_better
            text = f"{mean:+.3f} ({low:+.3f}, {high:+.3f})"
            if (setting, name) in differ:
                counts[name, better] += 1
                text = f"**{text}**" if better else f"{text} !"
            cells.append(text)
        rows.append([*setting, *cells])
    totals = [f"{counts[name, True]} better, {counts[name, False]} worse" for name in OTHERS]
    rows.append([f"of {len(rows)} settings", "", "", "", *totals])
    title = f"### {metric}: uniform replay, and the difference to it"
    return f"{title}\n\n" + markdown(["problem", "learner", "data", "uniform", *OTHERS], rows)


def calibration(found: Sequence[Result]) -> str:
    """Mean chance of failure that is predicted, as a multiple of how many fail."""
    rows = []
    names = [UNIFORM.name, *OTHERS]
    for setting, results in by_setting(found).items():
        if "truth" in results[UNIFORM.name].reached:
            fail = results[UNIFORM.name].reached["truth"]
            chances = {name: one.reached["mean chance"] for name, one in results.items()}
            ratios = [f"{chances[name] / fail:.2f}" if name in chances else "" for name in names]
            rows.append([*setting, f"{fail:.3f}", *ratios])
    head = ["problem", "learner", "data", "fail", *names]
    return "### Predicted failures to real ones\n\n" + markdown(head, rows)


def rates(found: Sequence[Result]) -> str:
    """Which learning rates were chosen."""
    names = [UNIFORM.name, *OTHERS]
    rows = [
        [*setting, *(f"{results[name].rate:g}" if name in results else "" for name in names)]
        for setting, results in by_setting(found).items()
    ]
    return "### Learning rates\n\n" + markdown(["problem", "learner", "data", *names], rows)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def draw(found: Sequence[Result], folder: Path) -> None:
    """Both plots, as SVG."""
    mpl.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    table = by_setting(found)
    with styled():
        whole = {
            setting: results
            for setting, results in table.items()
            if all(name in results for name in COLOURS)
        }
        draw_differences(whole, folder / "differences.svg")
        if any(learner == "linear" and data == "clean" for _, learner, data in table):
            draw_curves(table, folder / "curves.svg")


def draw_differences(table: Mapping[Setting, Mapping[str, Result]], path: Path) -> None:
    """Log loss to that of uniform replay, in hundredths of it, with intervals."""
    drawn = [name for name in COLOURS if name != UNIFORM.name]
    figure, axes = plt.subplots(figsize=(8, 0.42 * len(table) + 1.2))
    for row, (setting, results) in enumerate(table.items()):
        base = results[UNIFORM.name].reached["log loss"] / 100
        for place, name in enumerate(drawn):
            mean, low, high, _ = (value / base for value in results[name].difference["log loss"])
            at = row + 0.22 * (place - 1)
            axes.plot([low, high], [at, at], color=COLOURS[name], lw=1.2)
            axes.plot(mean, at, "o", ms=4, color=COLOURS[name], label=name if row == 0 else None)
        if row and setting[:2] != list(table)[row - 1][:2]:
            axes.axhline(row - 0.5, color="#cccccc", lw=0.8)
    axes.axvline(0, color=GREY, lw=1)
    axes.set_yticks(range(len(table)), [", ".join(setting) for setting in table], fontsize=8)
    axes.set_xscale("symlog", linthresh=20)
    axes.set_xticks([-20, -10, 0, 10, 20, 100], ["-20", "-10", "0", "10", "20", "100"])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("log loss to uniform replay, % (left is better)")
    axes.legend(loc="lower center", bbox_to_anchor=(0.3, 1.0), ncols=3, fontsize=8)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_curves(table: Mapping[Setting, Mapping[str, Result]], path: Path) -> None:
    """Log loss by updates, on clean data."""
    shown = [key for key in table if key[2] == "clean" and key[1] == "linear"]
    figure, all_axes = plt.subplots(1, len(shown), figsize=(2.6 * len(shown), 3.0))
    for setting, axes in zip(shown, np.atleast_1d(all_axes), strict=True):
        for name, colour in COLOURS.items():
            curve = table[setting][name].curve
            axes.plot([int(step) for step in curve], [*curve.values()], color=colour, label=name)
        axes.set(title=setting[0], xlabel="updates", xscale="log")
        axes.set_xticks([20, 100, 500], ["20", "100", "500"])
        axes.minorticks_off()
        axes.title.set_fontsize(9)
    first = np.atleast_1d(all_axes)[0]
    first.set_ylabel("log loss, held out")
    handles, names = first.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
