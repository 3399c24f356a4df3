"""What a training came to, in plain words."""

from typing import TYPE_CHECKING

from pml.cli.table import table

if TYPE_CHECKING:
    from pml.tracking.package import TaskVerdict
    from pml.tracking.study import Finding
    from pml.workspace.learning import Learned
    from pml.workspace.packaging import PackageFacts

_NAMES = {
    "tools": "tools for an intent",
    "capabilities": "capability for an intent",
    "next_tool": "next tool",
}
_WIDTH = 100
_LEAST_P = 0.001


def render_learned(found: "Learned") -> str:
    """What it learned from, how good it is, and whether it would be switched on."""
    recorded = f", {found.traces:,} traces" if found.traces else ""
    examples = f"{sum(found.examples.values()):,} examples"
    failures = f"{found.failures:,} of them with a choice that failed"
    lines = [
        f"{found.data}: {found.tools:,} tools, {found.requests:,} training requests{recorded}",
        f"learned from {examples}, {failures}; {found.capabilities:,} capabilities",
        _epochs(found),
        "",
        *_verdicts(found.verdicts),
        "",
        f"wrote {found.model} ({found.bytes:,} bytes) and its encoder, {found.encoder}",
    ]
    if found.run is not None:
        lines.append(f"tracked as run {found.run}")
    return "\n".join([*lines, *(f"{found.data}, {note}" for note in found.notes)])


def render_package(found: "PackageFacts") -> str:
    """What a package holds."""
    manifest = found.manifest
    size = f"{found.bytes:,} bytes, {len(manifest.parts)} parts, checksums fit"
    of = f"graph {manifest.graph[:12]}, data {manifest.data[:12]}, seed {manifest.seed}"
    return "\n".join(
        [
            f"{found.file}: {manifest.name} of PML {manifest.pml_version}, {size}",
            f"encoder {manifest.encoder}, {of}",
            "",
            *_verdicts(manifest.verdicts),
        ]
    )


def _epochs(found: "Learned") -> str:
    if not found.epochs:
        return (
            "nothing was trained: too few requests. Some teach, others say when to stop, others "
            "judge:\ngive it some hundred with different intents (`pml export-traces` of more runs)"
        )
    return f"{found.epochs} epochs, number {found.best_epoch} was best"


def _verdicts(verdicts: "tuple[TaskVerdict, ...]") -> list[str]:
    if not verdicts:
        return ["not switched on: nothing could be judged, so simple methods serve"]
    rows = [
        [
            _NAMES.get(each.task, each.task),
            f"{each.model:.3f}",
            each.fallback_name,
            f"{each.fallback:.3f}",
            f"{each.intents:,}" + (f" + {each.cold_intents:,}" if each.cold_intents else ""),
            f"{each.p:.3f}" if each.p >= _LEAST_P else "<.001",
            "on" if each.switched_on else "off",
        ]
        for each in verdicts
    ]
    metric = verdicts[0].metric
    headers = [metric, "model", "simple method", f"its {metric}", "requests", "p", "would be"]
    on = sum(each.switched_on for each in verdicts)
    share = max(each.cold_share for each in verdicts)
    cold = (
        "+: for servers that the judged models were trained without, as some of yours have no\n"
        f"history either; they count {share:.0%}, as many requests may need such a server"
    )
    return [
        "On requests that it had not seen:",
        table(headers, rows, width=_WIDTH),
        *([cold] if share else []),
        f"would be switched on for {on} of {len(verdicts)} tasks; simple methods serve the rest",
    ]


def render_finding(found: "Finding") -> str:
    """What a study has come to."""
    ended = f"{found.complete:,} trials complete, {found.pruned:,} ended early"
    failed = f", {found.failed:,} failed" if found.failed else ""
    lines = [f"study {found.name!r}: {ended}{failed}"]
    if found.best_value is not None:
        reached = f"held-back nDCG@10 {found.best_value:.3f}"
        lines.append(f"best is trial {found.best_number}, {reached}:")
        lines += [f"  {name}: {value}" for name, value in sorted(found.best.items())]
    return "\n".join(lines)
