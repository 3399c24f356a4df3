"""An evaluation as tables that fit a terminal: one per problem, best first."""

from typing import TYPE_CHECKING

from pml.cli.table import duration, shorten, table, wrapped

if TYPE_CHECKING:
    from pml.domain.evaluation import Evaluation, MethodResult, ProblemResult

_METHOD_CHARS = 40
_MARKS = {"best": "*", "as good": "=", "bound": "o", "": ""}
LEGEND = (
    "* best, = not significantly worse than the best (corrected p of 0.05 or more), "
    "o is told part of the answer"
)


def render_evaluation(report: "Evaluation", *, width: int) -> str:
    """Tables, and what there is to know beside them."""
    parts = [_problem(problem, width) for problem in report.problems]
    asked = {problem.dataset for problem in report.problems}
    unasked = [facts.name for facts in report.datasets if facts.name not in asked]
    if unasked and not report.interrupted:
        parts.append(f"nothing can be asked of {', '.join(unasked)} with these tasks and methods")
    notes = [f"{facts.name}, {note}" for facts in report.datasets for note in facts.notes]
    if notes:
        parts.append("\n".join(notes))
    took = f"{len(report.problems)} tables in {duration(report.seconds * 1_000)}"
    took += "; interrupted" if report.interrupted else ""
    parts.append("\n".join([*wrapped(LEGEND, "", "", width), took]))
    return "\n\n".join(parts)


def _problem(problem: "ProblemResult", width: int) -> str:
    from pml.evaluation.figures import heading, size

    # Groups are in the report; here they would break the line.
    cases = size(problem).partition(" in ")[0]
    stopped = "interrupted and not compared" if problem.interrupted else ""
    title = ", ".join(filter(None, (heading(problem), cases, stopped)))
    if problem.error is not None:
        return f"{heading(problem)}\n  failed: {problem.error}"
    answered = [each for each in problem.methods if each.error is None]
    failed = [f"  {each.method} failed: {each.error}" for each in problem.methods if each.error]
    return "\n".join([title, *([_table(problem, answered, width)] if answered else []), *failed])


def _table(problem: "ProblemResult", answered: "list[MethodResult]", width: int) -> str:
    """As many of the other metrics as fit between the headline and the difference."""
    from pml.evaluation.figures import against, around, figure, mark

    names = [metric.name for metric in answered[0].metrics if metric.name != problem.headline]
    head = ["", "method", problem.headline, "95 % interval", *names, "to the best other"]
    rows = []
    for each in answered:
        values = {metric.name: metric for metric in each.metrics}
        shown = values[problem.headline]
        rows.append(
            [
                _MARKS[mark(each)],
                shorten(each.method, _METHOD_CHARS),
                figure(shown),
                around(shown),
                *(figure(values[name]) if name in values else "" for name in names),
                against(each.against),
            ]
        )
    return _fitting(head, rows, width)


def _fitting(head: list[str], rows: list[list[str]], width: int) -> str:
    """Leave out columns before the last one until the table fits."""
    least = 5
    while len(head) > least and _needed(head, rows) > width:
        head = [*head[:-2], head[-1]]
        rows = [[*row[:-2], row[-1]] for row in rows]
    return table(head, rows, width=width)


def _needed(head: list[str], rows: list[list[str]]) -> int:
    return sum(max(len(row[at]) for row in (head, *rows)) + 2 for at in range(len(head))) - 2
