"""The report as a page: one file without anything from outside, to be read, printed, passed on.

Every text in it may come from a data set, so all are escaped; no script is in it.
"""

from collections.abc import Iterable, Sequence
from html import escape

from pml.domain.evaluation import Evaluation, MethodResult, MetricValue, ProblemResult
from pml.evaluation.figures import against, around, figure, heading, mark, size
from pml.evaluation.forest import forest_svg, headline

_STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; margin: 2rem auto;
  max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem;
  border-bottom: 1px solid #ccc; } h3 { font-size: 1rem; margin: 2rem 0 .3rem; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .15rem .7rem .15rem 0; white-space: nowrap; }
th { border-bottom: 1px solid #999; font-weight: 600; }
td.n, th.n { text-align: right; }
tr.best td { font-weight: 700; background: #e3eff7; } tr.good td { background: #f1f8fd; }
tr.bound td { font-style: italic; color: #666; } tr.failed td { color: #a33; white-space: normal; }
.range, .small { color: #666; font-size: 12px; font-weight: 400; }
.wide { overflow-x: auto; } svg { max-width: 100%; height: auto; margin-top: .5rem; }
svg text { font-family: system-ui, sans-serif; }
p.stopped, p.wrong { background: #fbeaea; padding: .4rem .7rem; }
@media print { body { margin: 0; max-width: none; font-size: 11px; }
  section { break-inside: avoid; } table { font-size: 9px; } }
"""
_READING = """
<p>Each table is one question to one data set, best method first, by the metric in the second
column. The range is a 95&nbsp;% interval: where the figure would lie on other data of the same
kind (cluster bootstrap, {draws} draws). <b>Dark rows</b> are best; <b>light rows</b> are not
significantly worse (paired test on the same cases, p-value corrected by Holm's method over all
pairs of the table, 0.05 or more). &ldquo;Not significantly worse&rdquo; is not &ldquo;equally
good&rdquo;: few cases tell little apart. <i>Slanted rows</i> are told part of the answer; they
say what could be reached, and nothing is compared with them. The difference is to the best other
method. Times are of one run, on a machine that may have done other things; work that methods
share counts for the first of them.</p>
"""


def page(report: Evaluation) -> str:
    """The whole page."""
    body = [
        "<h1>Evaluation</h1>",
        _stopped(report),
        _READING.format(draws=f"{report.draws:,}"),
        _overview(report.problems),
        *(_of_dataset(name, report) for name in dict.fromkeys(_names(report))),
        _facts(report),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Evaluation</title>\n'
        f"<style>{_STYLE}</style></head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def _names(report: Evaluation) -> list[str]:
    return [facts.name for facts in report.datasets]


def _stopped(report: Evaluation) -> str:
    if not report.interrupted:
        return ""
    return '<p class="stopped">It was interrupted: what was not finished is missing.</p>'


_NOT_COMPARED = "interrupted: not all methods were asked, none is compared"


def _overview(problems: Sequence[ProblemResult]) -> str:
    """Each problem in a line: what was best."""
    rows = []
    for at, problem in enumerate(problems):
        best = [each for each in problem.methods if each.best]
        good = sum(each.as_good for each in problem.methods) - len(best)
        found = headline(best[0], problem.headline) if best else None
        cells = (
            f'<a href="#p{at}">{escape(heading(problem))}</a>',
            f"{problem.cases:,}" if problem.cases else "",
            escape(", ".join(each.method for each in best)) or "-",
            "" if found is None else f"{escape(problem.headline)} {figure(found)}",
            "" if found is None else f'<span class="range">{around(found)}</span>',
            f"{good}" if good else "",
        )
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = ("question", "cases", "best method", "", "95 % interval", "as good")
    return f'<div class="wide">{_table(head, rows)}</div>'


def _table(head: Iterable[str], rows: Iterable[str]) -> str:
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _of_dataset(name: str, report: Evaluation) -> str:
    numbered = [(at, each) for at, each in enumerate(report.problems) if each.dataset == name]
    if not numbered:
        return f"<h2>{escape(name)}</h2><p>No task can be asked of this set.</p>"
    sections = (_section(f"p{at}", problem) for at, problem in numbered)
    return f"<h2>{escape(name)}</h2>" + "".join(sections)


def _section(anchor: str, problem: ProblemResult) -> str:
    title = f'<h3 id="{anchor}">{escape(heading(problem))}</h3>'
    if problem.error is not None:
        return f'<section>{title}<p class="wrong">{escape(problem.error)}</p></section>'
    told = "; ".join(filter(None, (size(problem), _NOT_COMPARED if problem.interrupted else "")))
    return (
        f'<section>{title}<div class="small">{told}</div>'
        f'<div class="wide">{_methods(problem)}</div>{forest_svg(problem)}</section>'
    )


def _methods(problem: ProblemResult) -> str:
    names = [metric.name for each in problem.methods[:1] for metric in each.metrics]
    others = [name for name in names if name != problem.headline]
    head = ("method", problem.headline, "95 % interval", "to the best other", *others, "seconds")
    rows = [_row(each, problem.headline, others) for each in problem.methods]
    return _table(head, rows)


def _row(result: MethodResult, name: str, others: Sequence[str]) -> str:
    if result.error is not None:
        columns = len(others) + 4
        said = (
            f'<td>{escape(result.method)}</td><td colspan="{columns}">{escape(result.error)}</td>'
        )
        return f'<tr class="failed">{said}</tr>'
    values = {metric.name: metric for metric in result.metrics}
    cells = [
        escape(result.method),
        figure(values[name]),
        f'<span class="range">{around(values[name])}</span>',
        against(result.against),
        *(_with_title(values[other]) if other in values else "" for other in others),
        f"{result.seconds:.2f}",
    ]
    kind = {"best": "best", "as good": "good", "bound": "bound", "": ""}[mark(result)]
    return f'<tr class="{kind}">' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _with_title(metric: MetricValue) -> str:
    return f'<span title="{around(metric)}">{figure(metric)}</span>'


def _facts(report: Evaluation) -> str:
    rows = [
        f"<tr><td>{escape(facts.name)}</td><td>{escape(each.name)}</td><td>{each.rows:,}</td>"
        f'<td class="small">{each.sha256}</td></tr>'
        for facts in report.datasets
        for each in facts.files
    ]
    notes = [
        f"<li>{escape(facts.name)}: {escape(note)}</li>"
        for facts in report.datasets
        for note in facts.notes
    ]
    versions = {"pml": report.pml_version, "Python": report.python_version, **report.libraries}
    told = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        "<h2>What this was computed from</h2>"
        f"<p>{escape(told)}; seed {report.seed}; {report.seconds:,.0f} s.</p>"
        f"<ul>{''.join(notes)}</ul>"
        f'<div class="wide">{_table(("set", "file", "rows", "SHA-256"), rows)}</div>'
    )
