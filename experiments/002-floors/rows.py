"""The rows of floors.md, and what each is called in a report of `pml evaluate`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pml.domain.evaluation import Evaluation

TASKS = {
    "a_tools": "tools",
    "b_caps": "capabilities",
    "c_next": "next",
    "d_plan": "plans",
    "d_links_given_nodes": "links",
    "e_provides": "provides",
    "f_outcome": "outcomes",
}
COUNTS = frozenset(
    {
        "dataset",
        "method",
        "tools",
        "n",
        "caps",
        "coverage",
        "vocab",
        "gold_pairs",
        "other_pairs",
        "base_rate",
        "fail_rate",
        "tool_seen",
    }
)
"""Columns that describe the data, not a method."""
METHODS = {
    "knn20_train_intents": "knn20 past intents",
    "nearest past intent (max sim)": "nearest past intent",
    "bm25 on tool texts of the capability": "bm25 on tool texts",
    "intent tfidf, unused tools only": "intent tfidf unused tools",
    "kNN-1 plan copy (nearest train intent)": "kNN-1 plan copy",
    "gold order, consecutive pairs": "gold order",
    "all pairs seen as a train edge": "seen train edges",
    "output field name = input field name": "shared field name",
    "any shared field name": "shared field name",
    "n_errors as failure score": "failed calls",
}
_PATTERNS = (
    (r" top-1 \+ dependency closure \(BFS order\)", " top-1 + closure"),
    (r"^per-tool Beta.*", "per-tool Beta posterior"),
    (r"^best successor.*", "best successor"),
    (r" top-k \(k voted by neighbours\).*", " top voted k"),
    (r" top-(k=2|oracle k) \+ best-order.*", r" top \1"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row."""

    section: str
    named: str
    """The data set as the floors name it, with what is said of it."""
    method: str
    metrics: Mapping[str, float]

    @property
    def dataset(self) -> str:
        """The data set."""
        return self.named.split()[0]


def rows_of(text: str) -> list[Row]:
    """All rows of all tables with a method."""
    rows: list[Row] = []
    section, head = "", list[str]()
    for line in text.splitlines():
        if line.startswith("### "):
            section, head = line[4:].strip(), []
        elif section and line.startswith("|") and not line.startswith("|---"):
            cells = _cells(line)
            if not head:
                head = cells
            else:
                rows.append(_row(section, dict(zip(head, cells, strict=True))))
    return rows


def _cells(line: str) -> list[str]:
    """Of a line of a table; a bar within parentheses ends no cell."""
    whole = re.sub(r"\(([^()|]*)\|([^()|]*)\)", r"(\1/\2)", line)
    return whole.strip()[1:-1].split("|")


def _row(section: str, cells: Mapping[str, str]) -> Row:
    metrics = {name: float(cell) for name, cell in cells.items() if name not in COUNTS and cell}
    return Row(section=section, named=cells["dataset"], method=cells["method"], metrics=metrics)


def found_as(row: Row, report: Evaluation) -> Mapping[str, float | None] | None:
    """The metrics that the report has for it; None where it has nothing like it."""
    task, wanted = _task(row), _method(row.method)
    for problem in report.problems:
        if (problem.dataset, problem.task) == (row.dataset, task) and _labelled(row, problem.label):
            for each in problem.methods:
                if each.method == wanted:
                    return {metric.name: metric.value for metric in each.metrics}
    return None


def _task(row: Row) -> str:
    if "(all 1,569)" in row.named:
        return "closure"
    return "runs" if row.named == "taubench episodes" else TASKS[row.section]


def _method(name: str) -> str:
    for pattern, instead in _PATTERNS:
        name = re.sub(pattern, instead, name)
    return METHODS.get(name, name)


def _labelled(row: Row, label: str) -> bool:
    """Whether the problem of that label is the one that the row is about."""
    if row.section == "e_provides" or _task(row) == "closure":
        return label == "all"
    if row.section == "b_caps":
        return (label == "by description") == (row.dataset == "n8n")
    if row.named == "sgd train 90/10 (seen services)":
        return label == "seen"
    if row.named in ("sgd dev", "sgd test"):
        return label == row.named.split()[1]
    return row.section != "c_next" or label in {"test", "episodes"}
