"""Figures in words, for the terminal and the page."""

from pml.domain.evaluation import Against, MethodResult, MetricValue, ProblemResult

_TINY = 0.001


def figure(metric: MetricValue) -> str:
    """``.875``; three digits, as the data hold no more."""
    return "-" if metric.value is None else number(metric.value)


def number(value: float) -> str:
    """Three digits after the point, no zero before it."""
    shown = f"{value:.3f}"
    return shown.replace("0.", ".", 1) if abs(value) < 1 else shown


def around(metric: MetricValue) -> str:
    """``.851-.899``; empty where there is no interval."""
    if metric.low is None or metric.high is None:
        return ""
    return f"{number(metric.low)} to {number(metric.high)}"


def p_value(p: float) -> str:
    """``p = .012``, or ``p < .001``."""
    return "p < .001" if p < _TINY else f"p = {number(p)}"


def against(found: Against | None) -> str:
    """``-.041 (p = .012)``: the difference to the best other method, p corrected."""
    if found is None:
        return ""
    sign = "+" if found.difference > 0 else ""
    return f"{sign}{number(found.difference)} ({p_value(found.p_holm)})"


def mark(result: MethodResult) -> str:
    """``best``, ``as good``, ``bound``, or nothing."""
    if result.bound:
        return "bound"
    return "best" if result.best else "as good" if result.as_good else ""


def size(problem: ProblemResult) -> str:
    """``100 cases in 50 groups``; of a problem that nobody could answer, what is known."""
    if not problem.cases:
        return ""
    cases = f"{problem.cases:,} case" + ("" if problem.cases == 1 else "s")
    return (
        cases if problem.groups in {0, problem.cases} else f"{cases} in {problem.groups:,} groups"
    )


def heading(problem: ProblemResult) -> str:
    """``errands, intent to tools (test)``."""
    label = f" ({problem.label})" if problem.label else ""
    return f"{problem.dataset}: {problem.title}{label}"
